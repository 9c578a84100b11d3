-- title: Cost by tenant
-- purpose: Spend, 3
-- grain: tenant, currency
-- means: `billing_cost` includes credits (lines below zero). `shipments` counts lines, `packages` distinct tracking
--   numbers; `cost_per_shipment` is per package and `cost_per_lb` per billable pound. Tenants are distinguished by id:
--   a renamed tenant has one row with its latest name, and tenants with the same name show their ids.
-- order: currency; highest billing_cost first; tenant
-- limits: Surcharges, dimensional weight, destination and margin are not in an invoice file.
-- units: billable_weight_lb lb, cost_per_lb money/lb
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
select
    a as tenant,
    currency_code,
    invoices,
    shipments,
    billing_cost,
    cost_per_shipment,
    billable_weight_lb,
    cost_per_lb,
    packages,
    credits,
    b as tenant_id
from totals_by('invoiced_months', tenant, tenant_id)
order by currency_code, billing_cost desc, tenant
