-- The same of all rows, where new ones are so many that finding the others among them would be dearer.
create or replace temp table looked_at as
select load_id, row_number, (hash(tracking_number) & 4294967295)::uinteger as mark
from shipment_rows
