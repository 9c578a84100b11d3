-- Rows whose load nobody knows, and loads whose invoice nobody knows: one transaction writes them, so there are none.
select 'orphan-rows' as rule, load_id::varchar as what, count(*)::varchar as found
from shipment_rows
where load_id not in (select load_id from loads)
group by load_id
union all
select 'orphan-load', l.load_id::varchar, l.invoice_id::varchar
from loads as l
anti join invoice_state as i on i.invoice_id = l.invoice_id
union all
select 'doubled-load', l.load_id::varchar, count(*)::varchar
from loads as l
group by l.load_id
having count(*) > 1
