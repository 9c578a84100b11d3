insert into package_loads
select l.load_id, i.invoice_level is not distinct from 'partner'
from loads as l
join invoice_state as i on i.invoice_id = l.invoice_id
where l.load_id in (select load_id from unlooked_loads)
