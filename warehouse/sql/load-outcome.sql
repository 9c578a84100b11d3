select i.proof, coalesce(i.currency_code, l.currency_code) as currency_code
from loads as l
join invoice_state as i on i.invoice_id = l.invoice_id
where l.load_id = $load_id::integer
