-- title: Budget and billed cost
-- purpose: Spend, 8
-- grain: month, tenant, carrier, currency of the budget
-- source: budget, fx
-- means: Each line of the budget (`--budget FILE`; an empty tenant or carrier means all) beside the cost billed in that
--   month. Other currencies are converted by `--fx FILE`, with the rate of the month before a rate without a month.
--   `variance` is `billing_cost` less `budget`; `unconverted` counts lines without a rate, whose cost is in no amount.
--   Filters choose lines and leave out budgets of other months, carriers and tenants.
-- order: currency; month; tenant (all first); carrier (all first)
-- limits: Cost outside the budget has no row. Filters do not reduce a budget for all carriers, tenants or days.
-- units: used_percent %
-- chart: bar key=month value=variance combine=sum
-- drilldown: shipments by month, tenant?, carrier?
-- example: 100 USD were budgeted for March. 60 USD and 50 EUR were billed; at 1.10 that is 60 + 55 = 115, 15 over.
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
        lower(tenant_id) as tenant_id,
        lower(carrier) as carrier,
        currency_code,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost
    from invoiced_months
    group by all
),
selected_tenants as (
    select coalesce(l.label, k.tenant, k.tenant_id) as label, k.tenant_id
    from tenants as k
    left join tenant_labels as l on l.tenant_key = tenant_key(k.tenant_id, k.tenant)
    where matches_partner(k.partner_id) and matches_tenant(k.tenant_id, coalesce(l.label, k.tenant))
),
budgets as (
    select
        month, lower(tenant) as tenant_name, lower(carrier) as carrier_name, currency_code,
        min(tenant) as tenant, min(carrier) as carrier, sum(amount) as amount
    from budget
    where is_from(last_day(cast(month || '-01' as date)))
    and is_until(cast(month || '-01' as date))
    and (carrier is null or matches_carrier_in_file(carrier))
    and (
        tenant is null or getvariable('tenants') is null
        or lower(tenant) in (select lower(unnest([label, tenant_id])) from selected_tenants)
    )
    group by month, tenant_name, carrier_name, currency_code
),
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
        on s.month = b.month and (b.tenant is null or b.tenant_name in (s.tenant, s.tenant_id))
        and (b.carrier is null or s.carrier = b.carrier_name)
    group by all
),
rated as (
    select *, rate_for(from_currency, currency_code, month).rate as rate from matched
)
select
    month,
    tenant,
    carrier,
    currency_code,
    cast(coalesce(sum(shipments), 0) as bigint) as shipments,
    any_value(amount) as budget,
    coalesce(converted_amount(sum(converted(billing_cost, rate))), 0) as billing_cost,
    coalesce(converted_amount(sum(converted(billing_cost, rate))), 0) - any_value(amount) as variance,
    percent_of(coalesce(converted_amount(sum(converted(billing_cost, rate))), 0), any_value(amount)) as used_percent,
    cast(coalesce(sum(shipments) filter (where rate is null), 0) as bigint) as unconverted
from rated
group by month, tenant, carrier, currency_code
order by currency_code, month, tenant nulls first, carrier nulls first
