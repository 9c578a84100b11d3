-- title: Who ships what with whom: tenant by carrier by service?
-- grain: tenant, carrier, service level, currency
-- means: share_of_cost is of the tenant's cost in that currency. Credits are included in billing_cost and shown apart.
-- cannot say: surcharges, dimensional weight, destination and margin are not in an invoice file.
-- units: credits money, billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb,
--   share_of_cost %
-- chart: heatmap key=carrier y=tenant value=billing_cost combine=sum
-- example: Of 40 that Acme was billed 30 are ground with UPS, 75 %.
--   lines: carrier | service_level | billing_cost
--   ups | Ground | 30
--   fedex | 2Day | 10
--   rows: tenant | carrier | service_level | billing_cost | share_of_cost
--   Acme | ups | Ground | 30.0000 | 75.00
--   Acme | fedex | 2Day | 10.0000 | 25.00
select
    tenant,
    carrier,
    service_level,
    currency_code,
    count(distinct invoice_id) as invoices,
    cast(sum(shipments) as bigint) as shipments,
    sum(credits) as credits,
    sum(billing_cost) as billing_cost,
    per(sum(billing_cost), sum(shipments)) as cost_per_shipment,
    sum_lb(weight, unit) as billable_weight_lb,
    per_lb(sum(billing_cost), weight, unit) as cost_per_lb,
    percent_of(sum(billing_cost), sum(sum(billing_cost)) over (partition by tenant, currency_code)) as share_of_cost
from invoiced(null, service_level)
group by tenant, carrier, service_level, currency_code
order by currency_code, tenant, sum(billing_cost) desc, carrier, service_level
