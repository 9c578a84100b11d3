-- What analysts can ask, as one number per view: any cell that differs gives another.
select 'shipments' as view, count(*) as rows, bit_xor(hash(s)) as cells from shipments as s
union all
select 'invoices', count(*), bit_xor(hash(i)) from invoices as i
union all
select 'files', count(*), bit_xor(hash(f)) from files as f
union all
select 'events', count(*), bit_xor(hash(e)) from events as e
union all
select 'discrepancies', count(*), bit_xor(hash(d)) from discrepancies as d
