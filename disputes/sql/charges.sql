-- How many charges of some tracking numbers are counted, whoever's they are: $numbers is JSON.
select
    partner_id,
    coalesce(invoice_level, 'unknown') as invoice_level,
    carrier,
    tracking_number,
    currency_code,
    count(*) as charges
from shipments
where billing_cost > 0
and tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]')))
group by all
