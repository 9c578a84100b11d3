-- What some invoices are now, with each line of theirs that has one of some tracking numbers: $invoices and $numbers are JSON.
select
    i.invoice_id,
    i.state,
    i.voided_at,
    i.partner_id,
    coalesce(i.invoice_level, 'unknown') as invoice_level,
    s.carrier,
    s.tracking_number,
    s.currency_code,
    s.billing_cost
from invoices as i
left join shipments as s
    on s.invoice_id = i.invoice_id and s.tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]')))
where cast(i.invoice_id as varchar) in (select unnest(from_json($invoices, '["VARCHAR"]')))
