-- title: Which lines were billed above their agreed rate?
-- purpose: Audit, 1
-- grain: line
-- source: rates
-- params: $rows text: JSON, carrier, service_level and currency_code of each row of "rate-variance"
--   $numbers text: JSON, the only tracking numbers wanted; all without it
--   $limit integer = 100000: list at most this many lines, largest amounts first
-- means: as "rate-variance" compares each line with the rate that fits it; what is claimed of a row is its
--   overcharged_cost.
-- order: currency; claimed, highest first; invoice_id; row_number
-- cannot say: which part of it is a surcharge.
select
    s.carrier,
    s.service_level,
    s.currency_code,
    s.invoice_id,
    s.row_number,
    cast(s.billing_cost - c.rate as decimal(18, 4)) as claimed
from selected_shipments as s
join rated_cells as c
    on c.carrier = s.carrier and c.service_level is not distinct from s.service_level and c.zone is not distinct from s.zone
    and c.currency_code = s.currency_code and c.billing_cost = s.billing_cost and c.day is not distinct from rate_day(s.report_date)
    and c.exact is not distinct from exact_weight(s.billable_weight, s.billable_weight_unit)
semi join (
    select unnest(
        from_json($rows, '[{"carrier": "VARCHAR", "service_level": "VARCHAR", "currency_code": "VARCHAR"}]'),
        recursive := true
    )
) as w
    on w.carrier = s.carrier and w.service_level is not distinct from s.service_level
    and w.currency_code = s.currency_code
where s.billing_cost > c.rate
and ($numbers is null or s.tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]'))))
order by s.currency_code, claimed desc, s.invoice_id, s.row_number
limit $limit
