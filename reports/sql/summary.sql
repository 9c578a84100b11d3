-- title: Cost by month or week
-- purpose: Spend, 1
-- grain: month (or week) of the reported date, currency
-- params: $grain month|week = month: weeks begin on Monday and are named as in ISO 8601, 2026-W10
-- means: `charges` (lines above zero) and `credits` (lines below zero) add up to `billing_cost`. Changes are
--   against the month before and the same month of the year before; with `grain=week`, the week before and the week 52
--   weeks before. They are empty when that period has no lines within the filters, a percentage also when its cost is
--   not above zero. `cost_per_shipment` is per package; a package with lines in two months counts in both.
--   `is_open`: the month (or week) ends on the day of the publication or later, so its changes are not those of a whole
--   one.
-- order: currency; month (or week)
-- limits: A recent month may be incomplete, since carriers bill late (see `accrual`).
-- units: billable_weight_lb lb, cost_per_lb money/lb, change_on_previous_percent %, change_on_year_percent %,
--   credited_percent %
-- groups: month, week
-- chart: line key=month value=billing_cost
--   line key=week value=billing_cost
-- drilldown: shipments by month, week, currency_code; totals
-- example: January cost 20 less a credit of 2, February 27: 9 more, or half as much again.
--   lines: ship_date | billing_cost
--   2026-01-10 | 20
--   2026-01-11 | -2
--   2026-02-10 | 27
--   rows: month | shipments | charges | credits | billing_cost | change_on_previous | change_on_previous_percent | credited_percent
--   2026-01 | 2 | 20.0000 | -2.0000 | 18.0000 | | | 10.00
--   2026-02 | 1 | 27.0000 | 0.0000 | 27.0000 | 9.0000 | 50.00 | 0.00
with months as (
    select
        start,
        currency_code,
        count(distinct invoice_id) as invoices,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) - sum(credits) as charges,
        sum(credits) as credits,
        sum(billing_cost) as billing_cost,
        sum_lb(weight, unit) as billable_weight_lb,
        per_lb(sum(billing_cost), weight, unit) as cost_per_lb
    from (
        select * from invoiced_months where $grain = 'month'
        union all by name
        select * from amounts_by_invoice(period_start(report_date, 'week')) where $grain = 'week'
    )
    group by start, currency_code
)
select
    month_of(m.start) as month,
    period_of(m.start, 'week') as week,
    m.currency_code,
    m.invoices,
    m.shipments,
    m.charges,
    m.credits,
    m.billing_cost,
    per(m.billing_cost, packages_of(m.shipments, r.repeats)) as cost_per_shipment,
    m.billable_weight_lb,
    m.cost_per_lb,
    packages_of(m.shipments, r.repeats) as packages,
    m.billing_cost - p.billing_cost as change_on_previous,
    change_percent(m.billing_cost, p.billing_cost) as change_on_previous_percent,
    m.billing_cost - y.billing_cost as change_on_year,
    change_percent(m.billing_cost, y.billing_cost) as change_on_year_percent,
    credited_percent(m.billing_cost, m.credits) as credited_percent,
    if($grain = 'week', m.start + 6, last_day(m.start)) >= known_on() as is_open
from months as m
left join repeats_by(period_start(report_date, $grain), null, null, null) as r
    on r.a = m.start and r.currency_code = m.currency_code
left join months as p on p.currency_code = m.currency_code and p.start = period_before(m.start, $grain)
left join months as y on y.currency_code = m.currency_code and y.start = year_before(m.start, $grain)
order by m.currency_code, m.start
