-- The rows of --weights whose carrier has loaded lines; a row for all carriers always counts, whatever the filters.
create or replace temp view matched_rows as
select f.line
from weights as f
where f.carrier is null or lower(f.carrier) in (select distinct lower(carrier) from loaded_shipments)
