-- title: Which lines were billed above their agreed rate?
-- purpose: Audit, 1
-- grain: line
-- source: rates
-- params: $rows text: JSON, carrier, service_level and currency_code of each row of "rate-variance"
-- means: as "rate-variance" compares each line with the rate that fits it; what is claimed of a row is its
--   overcharged_cost.
-- order: currency; claimed, highest first; invoice_id; row_number
-- cannot say: which part of it is a surcharge.
with rated as (
    select
        s.carrier,
        s.service_level,
        s.currency_code,
        s.invoice_id,
        s.row_number,
        any_value(s.billing_cost) as billing_cost,
        arg_min(
            r.rate,
            row(
                -(
                    (r.carrier is not null)::integer + (r.service_level is not null)::integer
                    + (r.zone is not null)::integer + (r.from_lb is not null or r.to_lb is not null)::integer
                ),
                -coalesce(r.valid_from - date '0001-01-01', 0),
                r.rate
            )
        ) as rate
    from selected_shipments as s
    join (
        select unnest(
            from_json($rows, '[{"carrier": "VARCHAR", "service_level": "VARCHAR", "currency_code": "VARCHAR"}]'),
            recursive := true
        )
    ) as w
        on w.carrier = s.carrier and w.service_level is not distinct from s.service_level
        and w.currency_code = s.currency_code
    join rates as r
        on r.currency_code = s.currency_code
        and (r.from_lb is null
            or exact_weight(s.billable_weight, s.billable_weight_unit) > exact_weight(r.from_lb, coalesce(r.unit, 'lb')))
        and (r.to_lb is null
            or exact_weight(s.billable_weight, s.billable_weight_unit) <= exact_weight(r.to_lb, coalesce(r.unit, 'lb')))
        and (r.carrier is null or lower(r.carrier) = lower(s.carrier))
        and (r.service_level is null or lower(r.service_level) = lower(s.service_level))
        and (r.zone is null or normal_zone(r.zone) = s.zone)
        and (r.valid_from is null or s.report_date >= r.valid_from)
        and (r.valid_to is null or s.report_date < r.valid_to)
    where s.billing_cost > 0
    group by all
)
select
    carrier,
    service_level,
    currency_code,
    invoice_id,
    row_number,
    cast(billing_cost - rate as decimal(18, 4)) as claimed
from rated
where billing_cost > rate
order by currency_code, claimed desc, invoice_id, row_number
