-- Loads whose rows were not looked at yet for tracking numbers that repeat, or were when their invoice had another level
-- (moved); rows is how many they have, all_rows how many there are.
select
    coalesce(sum(l.shipments), 0)::double as rows,
    count(*)::double as loads,
    count(p.load_id)::double as moved,
    (select count(*) from shipment_rows)::double as all_rows
from loads as l
join invoice_state as i on i.invoice_id = l.invoice_id
left join package_loads as p on p.load_id = l.load_id
where p.is_partner is distinct from (i.invoice_level is not distinct from 'partner')
