-- The rows of new loads, and those of others that have one of their tracking numbers, each with a mark of its number. Unlike
-- numbers may share a mark of 32 bits: a row more is noted then, which changes no count.
create or replace temp table looked_at as
with fresh as (
    select l.load_id
    from loads as l
    join invoice_state as i on i.invoice_id = l.invoice_id
    anti join package_loads as p
        on p.load_id = l.load_id and p.is_partner = (i.invoice_level is not distinct from 'partner')
)
select load_id, row_number, (hash(tracking_number) & 4294967295)::uinteger as mark
from shipment_rows
where tracking_number in (select tracking_number from shipment_rows where load_id in (from fresh))
