-- The lines of the reported level that are loaded, whatever the filters: the partners of a line that is examined.
create or replace temp view loaded_shipments as
select *, normal_zone(carrier_zone) as zone
from base_shipments
where list_contains(cast(getvariable('levels') as varchar[]), coalesce(invoice_level, 'unknown'))
