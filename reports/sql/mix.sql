-- title: Mix of zones, services or weights over time
-- purpose: Change, 2
-- grain: month (or week) of the reported date, carrier, part (zone, service or weight break), currency
-- params: $by zone|service|weight = zone: what a part is: a zone in one spelling, a service level or a weight break
--   $grain month|week = month: weeks begin on Monday and are named as in ISO 8601, 2026-W10
-- means: The share of each zone, service or weight break in the lines of a carrier by month or week. `shift` is the
--   change of the share, in percentage points, against the period before, which is counted whole; it is empty when the
--   carrier had no lines then. With `by=service`, `average_zone` is the mean zone where the zones of the service are a
--   scale of numbers. Weight breaks are those of `cost`.
-- order: currency; month (or week); carrier; part (weights and numbers by size, then others by name, then none)
-- limits: Zones of two carriers or services are not the same distance, so there is no mean across them.
-- units: share_of_shipments %, shift points
-- detail: credits
-- groups: month, week
-- chart: line key=month value=share_of_shipments series=carrier+part
--   line key=week value=share_of_shipments series=carrier+part
-- drilldown: shipments by month, week, carrier, part as $by, currency_code; shipments, billing_cost, packages, cost_per_shipment, credits
-- example: In January one of three parcels goes to zone 8, in February two of three. The shift is 33.33 points, taken
--   before rounding.
--   lines: ship_date | carrier_zone | billing_cost
--   2026-01-10 | 5 | 8
--   2026-01-10 | 5 | 8
--   2026-01-10 | 8 | 12
--   2026-02-10 | 5 | 8
--   2026-02-10 | Zone 8 | 12
--   2026-02-10 | 8 | 12
--   rows: month | part | shipments | share_of_shipments | shift | cost_per_shipment
--   2026-01 | 5 | 2 | 66.67 | | 8.0000
--   2026-01 | 8 | 1 | 33.33 | | 12.0000
--   2026-02 | 5 | 1 | 33.33 | -33.33 | 8.0000
--   2026-02 | 8 | 2 | 66.67 | 33.33 | 12.0000
with
-- Weight breaks are computed once, because a break compares pounds eleven times.
lines as (
    select *, case when $by = 'weight' then lb_of(billable_weight, billable_weight_unit) end as lb from undated_shipments
),
-- Zones are read once for each group of lines, for the mean of services only.
grouped as (
    select
        period_start(report_date, $grain) as start,
        carrier,
        case $by when 'zone' then zone when 'service' then service_level end as name,
        case when $by = 'weight' then break_of(lb) end as weight_break,
        currency_code,
        case when $by = 'service' then zone end as zone,
        count(*) filter (where is_examined) as shipments,
        sum(billing_cost) filter (where is_examined) as billing_cost,
        credits_of(if(is_examined, billing_cost, 0)) as credits,
        count(*) as whole_shipments
    from lines
    group by all
),
read as (
    select
        start,
        carrier,
        name,
        weight_break,
        currency_code,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost,
        sum(credits) as credits,
        cast(sum(whole_shipments) as bigint) as whole_shipments,
        sum(cast(zone_number(zone) * shipments as decimal(38, 4))) as zone_sum,
        cast(coalesce(sum(shipments) filter (where zone_number(zone) is not null), 0) as bigint) as zone_count,
        -- All lines are read here, because whether zones are a scale does not depend on the dates.
        cast(coalesce(sum(whole_shipments) filter (where zone is not null), 0) as bigint) as zones,
        cast(coalesce(sum(whole_shipments) filter (where zone_number(zone) is not null), 0) as bigint) as numbered_zones,
        min(zone_number(zone)) as least_zone,
        max(zone_number(zone)) as greatest_zone
    from grouped
    group by all
),
mix as (
    select
        * exclude (name, weight_break),
        case when $by = 'weight' then break_name(weight_break) else name end as part,
        weight_break,
        $by = 'service' and name is not null and is_scale(
            sum(zones) over service, sum(numbered_zones) over service, min(least_zone) over service,
            max(greatest_zone) over service
        ) as has_scale
    from read
    window service as (partition by carrier, name)
),
shared as (
    select
        *,
        sum(shipments) over month as of_carrier,
        sum(whole_shipments) over month as whole_of_carrier
    from mix
    window month as (partition by start, carrier, currency_code)
),
carriers as (
    select start, carrier, currency_code, any_value(whole_of_carrier) as of_carrier from shared group by all
)
select
    month_of(s.start) as month,
    period_of(s.start, 'week') as week,
    s.carrier,
    s.part,
    s.currency_code,
    s.shipments,
    percent_of(s.shipments, s.of_carrier) as share_of_shipments,
    case
        when c.start is not null
            then as_hundredths(rounded_quotient(
                (s.shipments * c.of_carrier - coalesce(p.whole_shipments, 0) * s.of_carrier) * 10000, s.of_carrier * c.of_carrier
            ))
    end as shift,
    s.billing_cost,
    per(s.billing_cost, packages_of(s.shipments, r.repeats)) as cost_per_shipment,
    packages_of(s.shipments, r.repeats) as packages,
    case when s.has_scale then mean_of(s.zone_sum, s.zone_count) end as average_zone,
    s.credits
from shared as s
left join repeats_by(
    period_start(report_date, $grain),
    carrier,
    case $by
        when 'zone' then zone
        when 'service' then service_level
        else break_name(break_of(lb))
    end,
    null
) as r
    on r.a = s.start and r.b = s.carrier and r.c is not distinct from s.part and r.currency_code = s.currency_code
left join carriers as c
    on c.carrier = s.carrier and c.currency_code = s.currency_code
    and c.start = period_before(s.start, $grain)
left join shared as p
    on p.carrier = c.carrier and p.currency_code = c.currency_code and p.start = c.start
    and p.part is not distinct from s.part
where s.shipments > 0
order by s.currency_code, s.start, s.carrier, s.weight_break, zone_number(s.part) nulls last, s.part
