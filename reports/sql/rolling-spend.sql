-- title: Rolling spend by carrier
-- purpose: Spend, 7
-- grain: week of the reported date, carrier, currency
-- params: $weeks integer = 52: the number of weeks that are added up, including the week of the row
-- means: `rolling_cost` sums the cost, credits included, of `weeks` weeks (Monday to Sunday, ISO 8601) up to and
--   including the row's week; carriers grant discounts by such sums. A week without lines has a
--   row with zero as long as a sum includes earlier lines, and not after a carrier's last week. `is_full` is true once that many weeks have passed. Dates choose
--   the rows, and `shipments` and `billing_cost` are of the lines within them; `rolling_cost` is of all lines up to the
--   last day, from `adds_from` to `adds_to`.
-- order: currency; week; carrier
-- limits: Your contract may count otherwise, such as gross charges or certain services. Tiers are not in an invoice
--   file.
-- chart: line key=week value=rolling_cost series=carrier
-- detail: adds_from, adds_to
-- drilldown: shipments by week, carrier, currency_code; shipments, billing_cost
--   shipments by carrier, currency_code, adds_from as days_from, adds_to as days_to; rolling_cost=billing_cost
-- example: With two weeks: 10 in the week of 5 January, nothing in the next, 30 in the third. The sums are 10, 10 and
--   30.
--   lines: ship_date | billing_cost
--   2026-01-06 | 10
--   2026-01-19 | 30
--   with: weeks=2
--   rows: week | starts_on | billing_cost | rolling_cost | is_full
--   2026-W02 | 2026-01-05 | 10.0000 | 10.0000 | false
--   2026-W03 | 2026-01-12 | 0.0000 | 10.0000 | true
--   2026-W04 | 2026-01-19 | 30.0000 | 30.0000 | true
with billed as (
    select
        period_start(report_date, 'week') as start,
        carrier,
        currency_code,
        count(*) filter (where is_examined) as shipments,
        coalesce(sum(billing_cost) filter (where is_examined), 0) as billing_cost,
        sum(billing_cost) as whole_cost
    from undated_shipments
    where is_until(report_date)
    group by all
),
-- Each week with lines, and those after it to which it is added: however far apart two dates are, rows are few.
weeks as (
    select distinct
        carrier,
        currency_code,
        first_week,
        cast(unnest(generate_series(start, least(last_week, start + 7 * (added - 1)), interval 7 day)) as date) as start
    from (
        select
            carrier,
            currency_code,
            start,
            min(start) over line as first_week,
            max(start) over line as last_week,
            cast(least(greatest($weeks, 1), 1000) as integer) as added
        from billed
        window line as (partition by carrier, currency_code)
    )
),
filled as (
    select
        w.start,
        w.first_week,
        w.carrier,
        w.currency_code,
        coalesce(b.shipments, 0) as shipments,
        coalesce(b.billing_cost, 0) as billing_cost,
        coalesce(b.whole_cost, 0) as whole_cost
    from weeks as w
    left join billed as b on b.start = w.start and b.carrier = w.carrier and b.currency_code = w.currency_code
),
summed as (
    select
        f.*,
        sum(f.whole_cost) over line
        - coalesce(sum(f.whole_cost) over (
            partition by f.carrier, f.currency_code order by f.start
            range between unbounded preceding and to_days(7 * cast(least(greatest($weeks, 1), 100000) as integer)) preceding
        ), 0) as rolling_cost
    from filled as f
    window line as (partition by f.carrier, f.currency_code order by f.start)
),
changed as (
    select
        *,
        -- The week before has no row when its sum includes no line.
        case
            when lag(start) over line = start - 7 then rolling_cost - lag(rolling_cost) over line
            when start > first_week then rolling_cost
        end as change_on_week
    from summed
    window line as (partition by carrier, currency_code order by start)
)
select
    period_of(start, 'week') as week,
    carrier,
    currency_code,
    start as starts_on,
    shipments,
    billing_cost,
    rolling_cost,
    change_on_week,
    (start - first_week) // 7 + 1 >= $weeks as is_full,
    greatest(start - 7 * cast(least(greatest($weeks, 1), 100000) - 1 as integer), date '0001-01-01') as adds_from,
    least(start + 6, cast(getvariable('date_to') as date)) as adds_to
from changed
where is_from(start + 6)
order by currency_code, start, carrier
