-- title: Cost change between two periods by volume, price and mix
-- purpose: Change, 1
-- grain: step of the bridge (and carrier, tenant or zone), currency
-- source: weights
-- params: $by total|carrier|tenant|zone = total: one bridge for all, or one for each carrier, tenant or zone
--   $first_from date: first day of the first period; by default it has as many months or days as the second
--   $first_to date: its last day; by default the day before the second period
--   $second_from date: first day of the second period; by default that of the filter, or a month before $second_to
--   $second_to date: its last day; by default that of the filter, or the last day of the last month with lines that is not after the publication
-- means: Splits the change of cost between two periods into steps that add up exactly. "volume" is the change in the
--   number of lines at the first period's mean cost. "price" compares the carriers, services, zones and rated weights
--   of both periods: the second period's cost less as many lines at the first period's mean. "mix" is the rest. A
--   currency with lines in one period only has one step, "not comparable". With `by`, each carrier, tenant or zone has
--   a bridge of its own. The filter by date is the second period.
-- order: currency; with by, the greatest change first, whatever its sign; the steps as they add up
-- limits: Whether the mix was a choice is not known; destinations and promised dates are not in an invoice file.
-- chart: waterfall key=step value=amount
--   waterfall key=step series=carrier value=amount
--   waterfall key=step series=tenant value=amount
--   waterfall key=step series=zone value=amount
-- groups: carrier, tenant, zone
-- drilldown: shipments by carrier, tenant, zone, currency_code, period_from? as days_from, period_to? as days_to; amount=billing_cost, shipments
-- example: January had a ground parcel for 8 and an air parcel for 20, a mean of 14; February has three ground parcels
--   for 9 each. Volume: one more at 14. Price: three at 1 more. The change is -1, so mix is -1 - 14 - 3 = -18.
--   lines: ship_date | service_level | billing_cost
--   2026-01-10 | Ground | 8
--   2026-01-11 | Air | 20
--   2026-02-10 | Ground | 9
--   2026-02-11 | Ground | 9
--   2026-02-12 | Ground | 9
--   rows: step | amount | shipments
--   first period | 28.0000 | 2
--   volume | 14.0000 | 1
--   price | 3.0000 |
--   mix | -18.0000 |
--   second period | 27.0000 | 3
with latest as (
    select cast(date_trunc('month', max(s.report_date) filter (where s.report_date <= k.day)) as date) as month
    from undated_shipments as s
    cross join (select known_on() as day) as k
),
periods as (
    select
        coalesce(cast($second_to as date), cast(getvariable('date_to') as date), last_day(month)) as second_to,
        coalesce(
            cast($second_from as date),
            cast(getvariable('date_from') as date),
            cast(second_to + 1 - interval 1 month as date)
        ) as second_from,
        coalesce(cast($first_to as date), second_from - 1) as first_to,
        coalesce(
            cast($first_from as date),
            case
                when day(second_from) = 1 and day(second_to + 1) = 1
                    then cast(first_to + 1 - to_months(cast(date_diff('month', second_from, second_to + 1) as integer)) as date)
                else first_to - cast(second_to - second_from as integer)
            end
        ) as first_from
    from latest
),
days as (
    select
        d.report_date,
        d.report_date >= p.first_from and d.report_date <= p.first_to as is_first,
        d.report_date >= p.second_from and d.report_date <= p.second_to as is_second
    from (select distinct report_date from undated_shipments) as d
    cross join periods as p
),
cells as (
    select
        s.currency_code,
        case $by when 'carrier' then s.carrier when 'tenant' then s.tenant when 'zone' then s.zone end as name,
        s.carrier,
        s.service_level,
        s.zone,
        s.rated,
        count(*) filter (where d.is_first) as n1,
        coalesce(sum(s.billing_cost) filter (where d.is_first), 0) as c1,
        count(*) filter (where d.is_second) as n2,
        coalesce(sum(s.billing_cost) filter (where d.is_second), 0) as c2
    from undated_shipments as s
    join days as d on d.report_date = s.report_date
    where d.is_first or d.is_second
    group by all
),
-- Sums are in 10^-12, so that no sum of cells is off by their rounding.
totals as (
    select
        currency_code,
        name,
        sum(n1) as n1,
        sum(c1) as c1,
        sum(n2) as n2,
        sum(c2) as c2,
        coalesce(
            as_amount(rounded_quotient(
                sum(
                    ten_thousandths(c2) * 100000000 - rounded_quotient(n2 * ten_thousandths(c1) * 100000000, n1)
                ) filter (
                    where n1 > 0 and n2 > 0 and service_level is not null and zone is not null and rated is not null
                ),
                100000000
            )),
            0
        ) as price
    from cells
    group by currency_code, name
    having sum(n1) + sum(n2) > 0
),
parts as (
    select
        *,
        n1 > 0 and n2 > 0 as is_comparable,
        as_amount(rounded_quotient((n2 - n1) * ten_thousandths(c1), n1)) as volume
    from totals
)
select
    parts.name as carrier,
    parts.name as tenant,
    parts.name as zone,
    steps.step,
    parts.currency_code,
    case steps.step
        when 'first period' then parts.c1
        when 'volume' then parts.volume
        when 'price' then parts.price
        when 'mix' then parts.c2 - parts.c1 - parts.volume - parts.price
        when 'not comparable' then parts.c2 - parts.c1
        else parts.c2
    end as amount,
    case steps.step
        when 'first period' then parts.n1
        when 'second period' then parts.n2
        when 'volume' then parts.n2 - parts.n1
        when 'not comparable' then parts.n2 - parts.n1
    end as shipments,
    case steps.step when 'first period' then periods.first_from when 'second period' then periods.second_from end
        as period_from,
    case steps.step when 'first period' then periods.first_to when 'second period' then periods.second_to end
        as period_to
from parts
cross join periods
join (
    values
    (1, 'first period', null), (2, 'volume', true), (3, 'price', true), (4, 'mix', true), (5, 'not comparable', false),
    (6, 'second period', null)
) as steps (place, step, of_comparable)
    on steps.of_comparable is null or steps.of_comparable = parts.is_comparable
order by parts.currency_code, abs(parts.c2 - parts.c1) desc, parts.name nulls last, steps.place
