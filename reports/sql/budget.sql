-- title: Budget and billed cost
-- purpose: Spend, 8
-- grain: month, tenant, carrier, currency of the budget
-- source: budget, fx
-- means: one row for each month, tenant, carrier and currency of the budget (--budget FILE; an empty tenant or
--   carrier means all of them; lines that agree in all of these, whatever their case, are added, and the
--   spelling shown is the first in the order of text). billing_cost is everything billed for them in the month of the
--   reported date: each currency is summed, converted to the budget's currency by --fx FILE and rounded once to four
--   decimals, and then they are added. The rate of the month itself counts before one without a month. shipments
--   counts all of these lines, unconverted those in a currency without a rate: they are in no amount. variance is
--   billing_cost less budget; used_percent is billing_cost in percent of budget, empty where the budget is not above
--   zero. Filters choose lines; of the budget they leave out the months without a day, the carriers and the tenants
--   that were not asked for.
-- order: currency; month; tenant (all first); carrier (all first)
-- cannot say: what was billed outside the budget: where the budget has no line there is no row, and a budget of all
--   carriers, tenants or days is not made smaller by a filter. Nor which rate of exchange your books take.
-- units: budget money, billing_cost money, variance money, used_percent %
-- chart: bar key=month value=variance combine=sum
-- drilldown: shipments by month, tenant?, carrier?
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
        lower(tenant_id) as tenant_id,
        lower(carrier) as carrier,
        currency_code,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost
    from invoiced_months
    group by all
),
asked_tenants as (
    select coalesce(l.label, k.tenant, k.tenant_id) as label, k.tenant_id
    from known_tenants as k
    left join tenant_labels as l on l.tenant_key = tenant_key(k.tenant_id, k.tenant)
    where matches_partner(k.partner_id) and matches_tenant(k.tenant_id, coalesce(l.label, k.tenant))
),
budgets as (
    select
        month, lower(tenant) as tenant_name, lower(carrier) as carrier_name, currency_code,
        min(tenant) as tenant, min(carrier) as carrier, sum(amount) as amount
    from budget
    -- With filters, the budget of the selected months, carriers or tenants, and that of all.
    where (
        getvariable('date_from') is null
        or last_day(cast(month || '-01' as date)) >= cast(getvariable('date_from') as date)
    )
    and (getvariable('date_to') is null or cast(month || '-01' as date) <= cast(getvariable('date_to') as date))
    and (carrier is null or matches_carrier_in_file(carrier))
    and (
        tenant is null or getvariable('tenants') is null
        or lower(tenant) in (select lower(unnest([label, tenant_id])) from asked_tenants)
    )
    group by month, tenant_name, carrier_name, currency_code
),
-- The subject of each budget line, by currency.
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
-- The rate of the month itself before one for all.
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
