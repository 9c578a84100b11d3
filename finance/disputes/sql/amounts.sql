-- The charges and credits of some tracking numbers, whoever's they are: $numbers is JSON.
select
    partner_id,
    coalesce(invoice_level, 'unknown') as invoice_level,
    carrier,
    tracking_number,
    currency_code,
    billing_cost < 0 as is_credit,
    cast(abs(billing_cost) as decimal(18, 4)) as amount,
    invoice_id,
    invoice_number,
    row_number,
    invoice_generation_date as invoice_date
from shipments
where billing_cost <> 0
and tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]')))
order by loaded_at, invoice_id, row_number
