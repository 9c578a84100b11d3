-- title: Rolling spend by carrier
-- purpose: Spend, 7
-- grain: week of the reported date, carrier, currency
-- params: $weeks integer = 52: how many weeks are added up, including the week of the row
-- means: billing_cost sums the lines of the week (Monday to Sunday, ISO 8601) by the reported date; rolling_cost sums
--   that week and the weeks before it, $weeks in all. Carriers give discounts by such a sum. Credits are
--   included. From a carrier's first week with lines in that currency to its last, a week without lines is a row with
--   zero. change_on_week is rolling_cost less that of the row before; it is empty in the first week. is_full says
--   whether $weeks weeks have passed, counting from the first. Dates choose the weeks that are shown and the lines of
--   billing_cost; rolling_cost adds all lines up to --to that pass the other filters.
-- order: currency; week; carrier
-- cannot say: what your contract counts: often gross charges before discounts, or some services only. Tiers are not
--   in an invoice file.
-- units: billing_cost money, rolling_cost money, change_on_week money
-- chart: line key=week value=rolling_cost series=carrier
-- drilldown: shipments by week, carrier, currency_code; shipments, billing_cost
-- example: With two weeks: 10 in the week of 5 January, nothing in the next, 30 in the third. The sums are 10, 10 and 30.
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
    where getvariable('date_to') is null or report_date <= cast(getvariable('date_to') as date)
    group by all
),
weeks as (
    select
        carrier,
        currency_code,
        min(start) as first_week,
        cast(unnest(generate_series(min(start), max(start), interval 7 day)) as date) as start
    from billed
    group by carrier, currency_code
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
            range between unbounded preceding and to_days(7 * cast($weeks as integer)) preceding
        ), 0) as rolling_cost
    from filled as f
    window line as (partition by f.carrier, f.currency_code order by f.start)
),
changed as (
    select *, rolling_cost - lag(rolling_cost) over (partition by carrier, currency_code order by start) as change_on_week
    from summed
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
    (start - first_week) // 7 + 1 >= $weeks as is_full
from changed
-- Weeks after the period have no lines here.
where getvariable('date_from') is null or start + 6 >= cast(getvariable('date_from') as date)
order by currency_code, start, carrier
