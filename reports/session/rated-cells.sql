-- Lines above zero by all that their agreed rate hangs on, each group with the rate that fits it; null: none does.
create or replace temp view rated_cells as
with cells as (
    select
        carrier,
        service_level,
        zone,
        currency_code,
        exact_weight(billable_weight, billable_weight_unit) as exact,
        rate_day(report_date) as day,
        billing_cost,
        count(*) as shipments
    from selected_shipments
    where billing_cost > 0
    group by all
),
places as (
    select distinct carrier, service_level, zone, currency_code, exact, day from cells
),
rated as (
    select
        p.carrier,
        p.service_level,
        p.zone,
        p.currency_code,
        p.exact,
        p.day,
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
    from places as p
    join rates as r
        on r.currency_code = p.currency_code
        and (r.from_lb is null or p.exact > exact_weight(r.from_lb, coalesce(r.unit, 'lb')))
        and (r.to_lb is null or p.exact <= exact_weight(r.to_lb, coalesce(r.unit, 'lb')))
        and (r.carrier is null or lower(r.carrier) = lower(p.carrier))
        and (r.service_level is null or lower(r.service_level) = lower(p.service_level))
        and (r.zone is null or normal_zone(r.zone) = p.zone)
        and (r.valid_from is null or p.day >= r.valid_from)
        and (r.valid_to is null or p.day < r.valid_to)
    group by all
)
select c.*, r.rate
from cells as c
left join rated as r
    on r.carrier = c.carrier and r.service_level is not distinct from c.service_level
    and r.zone is not distinct from c.zone and r.currency_code = c.currency_code and r.exact is not distinct from c.exact
    and r.day is not distinct from c.day
