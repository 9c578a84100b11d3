-- title: What did each tenant's shipments cost?
-- grain: tenant, currency
-- means: billing_cost sums the shipments of finalized invoices, credits (negative lines) included; credits shows them apart. cost_per_shipment
--   and cost_per_lb are that sum divided, rounded once, half away from zero, to four decimals. Kilograms are summed,
--   then brought to pounds at 2.2046226218.
-- cannot say: surcharges, dimensional weight, destination and margin are not in an invoice file.
-- units: billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb, credits money
-- detail: credits, tenant_id
-- chart: bar key=tenant value=billing_cost
-- example: Acme was billed 10 and 20 in USD and 5 in EUR, which are never added.
--   lines: tenant | invoice_number | currency_code | billing_cost
--   Acme | 1 | USD | 10
--   Acme | 1 | USD | 20
--   Acme | 2 | EUR | 5
--   rows: tenant | currency_code | invoices | shipments | billing_cost | cost_per_shipment
--   Acme | EUR | 1 | 1 | 5.0000 | 5.0000
--   Acme | USD | 1 | 2 | 30.0000 | 15.0000
select
    tenant,
    currency_code,
    count(distinct invoice_id) as invoices,
    cast(sum(shipments) as bigint) as shipments,
    sum(billing_cost) as billing_cost,
    per(sum(billing_cost), sum(shipments)) as cost_per_shipment,
    sum_lb(weight, unit) as billable_weight_lb,
    per_lb(sum(billing_cost), weight, unit) as cost_per_lb,
    sum(credits) as credits,
    tenant_id
from invoiced_months
group by tenant, tenant_id, currency_code
order by currency_code, sum(billing_cost) desc, tenant
