-- The rows of new loads, and those of others that have one of their tracking numbers, each with a mark of its number. Unlike
-- numbers may share a mark of 32 bits: a row more is noted then, which changes no count.
create or replace temp table looked_at as
select load_id, row_number, (hash(tracking_number) & 4294967295)::uinteger as mark
from shipment_rows
where tracking_number in (
    select tracking_number from shipment_rows where load_id in (select load_id from unlooked_loads)
)
