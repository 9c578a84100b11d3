-- title: What was budgeted, what was billed, and what is it in the currency of the books?
-- grain: month, tenant, carrier, currency of the budget
-- source: budget, fx
-- means: billed cost beside the budget (--budget FILE with month, tenant, carrier, currency_code, amount; an empty tenant or
--   carrier is the budget of all, and then what is billed is that of all; names in any case). Costs in other currencies
--   are brought to the budget's by --fx FILE (month, from_currency, to_currency, rate; an empty month is for all
--   that have none of their own), summed by currency first and rounded once each. unconverted counts lines for which no
--   rate is known: they are in no amount. The month is that of the date that is reported. variance is billed less budget.
-- cannot say: without a budget file there is nothing to compare, and no rows. Nor does it know which rate your books take.
-- units: budget money, billing_cost money, variance money, used_percent %
-- chart: bar key=month value=variance combine=sum
-- example: 100 USD were budgeted for March, for all. 60 USD and 50 EUR were billed; at 1.10 that is 60 + 55 = 115, 15 over.
--   lines: invoice_number | currency_code | billing_cost
--   1 | USD | 60
--   2 | EUR | 50
--   budget: month | tenant | carrier | currency_code | amount
--   2026-03 | | | USD | 100
--   fx: month | from_currency | to_currency | rate
--   | EUR | USD | 1.1
--   rows: month | currency_code | shipments | budget | billing_cost | variance | used_percent | unconverted
--   2026-03 | USD | 2 | 100.0000 | 115.0000 | 15.0000 | 115.00 | 0
with billed as (
    select
        month_of(start) as month,
        lower(tenant) as tenant,
        lower(carrier) as carrier,
        currency_code,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost
    from invoiced_months
    group by all
),
budgets as (
    select month, tenant, carrier, currency_code, sum(amount) as amount from budget group by all
),
-- What each line of the budget is for, by currency.
matched as (
    select
        b.month,
        b.tenant,
        b.carrier,
        b.currency_code,
        b.amount,
        s.currency_code as from_currency,
        sum(s.shipments) as shipments,
        sum(s.billing_cost) as billing_cost
    from budgets as b
    left join billed as s
        on s.month = b.month and (b.tenant is null or s.tenant = lower(b.tenant))
        and (b.carrier is null or s.carrier = lower(b.carrier))
    group by all
),
-- The rate of the month itself before one for all; the least where a file states several.
rated as (
    select
        m.*,
        case
            when m.from_currency = m.currency_code then cast(1 as decimal(18, 8))
            else (
                select arg_min(f.rate, {has_no_month: f.month is null, rate: f.rate})
                from fx as f
                where f.from_currency = m.from_currency and f.to_currency = m.currency_code
                and (f.month is null or f.month = m.month)
            )
        end as rate
    from matched as m
)
select
    month,
    tenant,
    carrier,
    currency_code,
    cast(coalesce(sum(shipments), 0) as bigint) as shipments,
    any_value(amount) as budget,
    coalesce(sum(converted(billing_cost, rate)), 0) as billing_cost,
    coalesce(sum(converted(billing_cost, rate)), 0) - any_value(amount) as variance,
    percent_of(coalesce(sum(converted(billing_cost, rate)), 0), any_value(amount)) as used_percent,
    cast(coalesce(sum(shipments) filter (where rate is null), 0) as bigint) as unconverted
from rated
group by month, tenant, carrier, currency_code
order by currency_code, month, tenant nulls first, carrier nulls first
