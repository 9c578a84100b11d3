-- title: Cost by tenant
-- purpose: Spend, 3
-- grain: tenant, currency
-- means: billing_cost sums the lines of finalized invoices that are not voided, credits (lines below zero) included;
--   credits shows these apart. shipments counts lines, packages the distinct tracking numbers of a carrier.
--   cost_per_shipment is billing_cost divided by packages, cost_per_lb billing_cost divided by the pounds before they
--   are rounded; both are rounded once, half away from zero, to four decimals. Kilograms are summed, then multiplied
--   by 2.2046226218. Tenants are distinguished by id: one that was renamed has one row under its latest name, and of two
--   with one name each shows its id.
-- order: currency; highest billing_cost first; tenant
-- cannot say: surcharges, dimensional weight, destination and margin: they are not in an invoice file.
-- units: billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb, credits money
-- detail: credits, tenant_id
-- chart: bar key=tenant value=billing_cost
-- drilldown: shipments by tenant, tenant_id, currency_code; totals
-- example: Acme was billed 10 and 20 in USD and 5 in EUR, which are never added.
--   lines: tenant | invoice_number | currency_code | billing_cost
--   Acme | 1 | USD | 10
--   Acme | 1 | USD | 20
--   Acme | 2 | EUR | 5
--   rows: tenant | currency_code | invoices | shipments | billing_cost | cost_per_shipment
--   Acme | EUR | 1 | 1 | 5.0000 | 5.0000
--   Acme | USD | 1 | 2 | 30.0000 | 15.0000
with totals as (
    select
        tenant,
        tenant_id,
        currency_code,
        count(distinct invoice_id) as invoices,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost,
        sum_lb(weight, unit) as billable_weight_lb,
        per_lb(sum(billing_cost), weight, unit) as cost_per_lb,
        sum(credits) as credits
    from invoiced_months
    group by all
)
select
    t.tenant,
    t.currency_code,
    t.invoices,
    t.shipments,
    t.billing_cost,
    per(t.billing_cost, packages_of(t.shipments, r.repeats)) as cost_per_shipment,
    t.billable_weight_lb,
    t.cost_per_lb,
    packages_of(t.shipments, r.repeats) as packages,
    t.credits,
    t.tenant_id
from totals as t
left join repeats_by(tenant, tenant_id, null, null) as r
    on r.a = t.tenant and r.b is not distinct from t.tenant_id and r.currency_code = t.currency_code
order by t.currency_code, t.billing_cost desc, t.tenant
