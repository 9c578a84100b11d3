select distinct (hash(tracking_number) & 4294967295)::uinteger as mark
from shipment_rows
where load_id in (select load_id from unlooked_loads)
order by mark
