-- title: Were shipments billed at the rates we expected?
-- grain: carrier, service level, currency
-- source: rates
-- means: a shipment's expected rate is the line of the rates table (--rates FILE) whose carrier, service level, zone
--   and range of pounds fit it in its currency; an empty cell of that table fits all, and the line that names the most
--   wins, then the lowest rate. variance is billed less expected, over the shipments that have a rate.
-- cannot say: without a rates table every shipment counts as uncovered. Surcharges are part of what was billed.
-- units: coverage_percent %, billing_cost money, covered_cost money, expected_cost money, variance money,
--   overcharged_cost money
-- chart: bar key=carrier+service_level value=variance
with cells as (
    select
        carrier,
        service_level,
        zone,
        currency_code,
        lb_of(billable_weight, billable_weight_unit) as lb,
        billing_cost,
        count(*) as shipments
    from selected_shipments
    where billing_cost > 0
    group by all
),
places as (
    select distinct carrier, service_level, zone, currency_code, lb from cells
),
rated as (
    select
        p.carrier,
        p.service_level,
        p.zone,
        p.currency_code,
        p.lb,
        arg_min(
            r.rate,
            row(
                -(
                    (r.carrier is not null)::integer + (r.service_level is not null)::integer
                    + (r.zone is not null)::integer
                ),
                r.rate
            )
        ) as rate
    from places as p
    join rates as r
        on r.currency_code = p.currency_code and p.lb > r.from_lb and p.lb <= r.to_lb
        and (r.carrier is null or r.carrier = p.carrier)
        and (r.service_level is null or r.service_level = p.service_level)
        and (r.zone is null or normal_zone(r.zone) = p.zone)
    group by all
)
select
    c.carrier,
    c.service_level,
    c.currency_code,
    sum(c.shipments) as shipments,
    coalesce(sum(c.shipments) filter (where r.rate is not null), 0) as covered_shipments,
    percent_of(coalesce(sum(c.shipments) filter (where r.rate is not null), 0), sum(c.shipments)) as coverage_percent,
    sum(cast(c.billing_cost * c.shipments as decimal(38, 4))) as billing_cost,
    coalesce(sum(cast(c.billing_cost * c.shipments as decimal(38, 4))) filter (where r.rate is not null), 0)
        as covered_cost,
    coalesce(sum(cast(r.rate * c.shipments as decimal(38, 4))), 0) as expected_cost,
    coalesce(sum(cast((c.billing_cost - r.rate) * c.shipments as decimal(38, 4))), 0) as variance,
    coalesce(sum(c.shipments) filter (where c.billing_cost > r.rate), 0) as overcharged_shipments,
    coalesce(
        sum(cast((c.billing_cost - r.rate) * c.shipments as decimal(38, 4))) filter (where c.billing_cost > r.rate), 0
    ) as overcharged_cost
from cells as c
left join rated as r
    on r.carrier = c.carrier and r.service_level is not distinct from c.service_level
    and r.zone is not distinct from c.zone and r.currency_code = c.currency_code and r.lb is not distinct from c.lb
group by c.carrier, c.service_level, c.currency_code
order by c.currency_code, variance desc, c.carrier, c.service_level
