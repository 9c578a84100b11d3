-- title: What did shipping cost each month, and how did it change?
-- grain: month, currency
-- means: charges and credits (negative lines) are shown apart and add up to billing_cost. A change compares with the
--   month before, or the same month a year before, when that month has shipments within the filters; it is empty
--   otherwise. Percentages and averages are rounded once, half away from zero.
-- cannot say: whether a month is complete. Carriers bill late; the report "accrual" estimates what is missing.
-- units: charges money, credits money, billing_cost money, cost_per_shipment money, billable_weight_lb lb,
--   cost_per_lb money/lb, change_on_month money, change_on_month_percent %, change_on_year money,
--   change_on_year_percent %
-- chart: line key=month value=billing_cost
with months as (
    select
        start,
        currency_code,
        count(distinct invoice_id) as invoices,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) - sum(credits) as charges,
        sum(credits) as credits,
        sum(billing_cost) as billing_cost,
        sum_lb(weight, unit) as billable_weight_lb
    from invoiced_months
    group by start, currency_code
)
select
    month_of(m.start) as month,
    m.currency_code,
    m.invoices,
    m.shipments,
    m.charges,
    m.credits,
    m.billing_cost,
    per(m.billing_cost, m.shipments) as cost_per_shipment,
    m.billable_weight_lb,
    per(m.billing_cost, m.billable_weight_lb) as cost_per_lb,
    m.billing_cost - p.billing_cost as change_on_month,
    percent_of(m.billing_cost - p.billing_cost, p.billing_cost) as change_on_month_percent,
    m.billing_cost - y.billing_cost as change_on_year,
    percent_of(m.billing_cost - y.billing_cost, y.billing_cost) as change_on_year_percent
from months as m
left join months as p on p.currency_code = m.currency_code and p.start = m.start - interval 1 month
left join months as y on y.currency_code = m.currency_code and y.start = m.start - interval 1 year
order by m.currency_code, m.start
