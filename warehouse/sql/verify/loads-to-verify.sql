-- Loads to prove, oldest first: all of them, or those that no verification has seen.
select
    l.load_id, l.invoice_id::varchar as invoice_id, l.file_sha256,
    l.shipments::double as shipments, l.billing_cost::varchar as billing_cost, l.currency_code, l.currencies,
    l.first_ship_date::varchar as first_ship_date, l.last_ship_date::varchar as last_ship_date,
    i.current_load_id = l.load_id as is_current, i.voided_at is not null as is_voided
from loads as l
left join invoice_state as i on i.invoice_id = l.invoice_id
where $full::boolean or l.load_id not in (select load_id from verification_log)
order by l.load_id
