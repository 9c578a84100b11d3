-- title: What did each carrier's shipments cost?
-- purpose: Spend, 4
-- grain: carrier, currency
-- means: billing_cost sums the lines of finalized invoices that are not voided, credits (lines below zero) included;
--   credits shows these apart. shipments counts lines, packages the distinct tracking numbers of a carrier.
--   cost_per_shipment is billing_cost divided by packages, cost_per_lb billing_cost divided by the pounds before they
--   are rounded; both are rounded once, half away from zero, to four decimals. Kilograms are summed, then multiplied
--   by 2.2046226218. Carriers are as the files write them.
-- order: currency; highest billing_cost first; carrier
-- cannot say: surcharges, dimensional weight, destination and margin: they are not in an invoice file.
-- units: billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb, credits money
-- detail: credits
-- chart: bar key=carrier value=billing_cost
-- leads: shipments by carrier, currency_code; totals
-- example: UPS carried the packages A for 8 and B for 12, of which it credited 2: 18 for three lines and two packages, 9 each. The
--   lines weigh 1 lb and twice 1 kg, 5.4092 lb (2 x 2.2046226218 is 4.4092452436); 18 by 5.4092452436 is 3.3276.
--   lines: carrier | tracking_number | billable_weight | billable_weight_unit | billing_cost
--   ups | A | 1 | LB | 8
--   ups | B | 1 | KG | 12
--   ups | B | 1 | KG | -2
--   rows: carrier | shipments | packages | billing_cost | cost_per_shipment | billable_weight_lb | cost_per_lb | credits
--   ups | 3 | 2 | 18.0000 | 9.0000 | 5.4092 | 3.3276 | -2.0000
with totals as (
    select
        carrier,
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
    t.carrier,
    t.currency_code,
    t.invoices,
    t.shipments,
    t.billing_cost,
    per(t.billing_cost, packages_of(t.shipments, r.repeats)) as cost_per_shipment,
    t.billable_weight_lb,
    t.cost_per_lb,
    packages_of(t.shipments, r.repeats) as packages,
    t.credits
from totals as t
left join repeats_by(carrier, null, null, null) as r
    on r.a = t.carrier and r.currency_code = t.currency_code
order by t.currency_code, t.billing_cost desc, t.carrier
