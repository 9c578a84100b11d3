-- The rows of --disputes whose tracking number a loaded line of their carrier has in their currency, whatever the filters.
create or replace temp view matched_rows as
select distinct f.line
from loaded_shipments as s
join disputes as f
    on lower(f.carrier) = lower(s.carrier) and f.tracking_number = s.tracking_number and f.currency_code = s.currency_code
