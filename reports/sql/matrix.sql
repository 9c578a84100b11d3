-- title: Who ships what with whom: tenant by carrier by service?
-- grain: tenant, carrier, service level, currency
-- means: share_of_cost is of the tenant's cost in that currency. Credits are included in billing_cost and shown apart.
--   cost_per_shipment is billing_cost divided by packages, the distinct tracking numbers of a carrier; shipments counts lines.
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
with totals as (
    select
        tenant,
        carrier,
        service_level,
        currency_code,
        count(distinct invoice_id) as invoices,
        cast(sum(shipments) as bigint) as shipments,
        sum(credits) as credits,
        sum(billing_cost) as billing_cost,
        sum_lb(weight, unit) as billable_weight_lb,
        per_lb(sum(billing_cost), weight, unit) as cost_per_lb
    from invoiced(null, service_level)
    group by all
)
select
    t.tenant,
    t.carrier,
    t.service_level,
    t.currency_code,
    t.invoices,
    t.shipments,
    t.credits,
    t.billing_cost,
    per(t.billing_cost, t.shipments - coalesce(r.repeats, 0)) as cost_per_shipment,
    t.billable_weight_lb,
    t.cost_per_lb,
    t.shipments - coalesce(r.repeats, 0) as packages,
    percent_of(t.billing_cost, sum(t.billing_cost) over (partition by t.tenant, t.currency_code)) as share_of_cost
from totals as t
left join repeats_by(tenant, carrier, service_level, null) as r
    on r.a = t.tenant and r.b = t.carrier and r.c is not distinct from t.service_level
    and r.currency_code = t.currency_code
order by t.currency_code, t.tenant, t.billing_cost desc, t.carrier, t.service_level
