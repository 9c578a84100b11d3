-- title: Cost by carrier zone
-- purpose: Spend, 5
-- grain: carrier zone as the carrier wrote it, currency
-- means: one row for each spelling of a zone, so that nothing is merged unseen; zone is the spelling brought to one
--   form ("Zone 5", "05" and "5" are 5). Lines without a zone have a row of their own. share_of_shipments is of all
--   lines in that currency. billing_cost includes credits, which are also shown apart. cost_per_shipment is
--   billing_cost divided by packages, the distinct tracking numbers of a carrier; shipments counts lines, and a
--   package with lines in two zones counts in both. Averages are rounded once, half away from zero, to four decimals.
-- order: currency; zone (numbers first, by size, then others by name, then none); carrier_zone
-- cannot say: distance. A zone means what its carrier says, and the same number differs between carriers and
--   services; "cost" by carrier+zone keeps them apart. Surcharges, dimensional weight and destination are not in an
--   invoice file.
-- units: billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb, share_of_shipments
--   %, credits money
-- detail: credits
-- chart: bar key=carrier_zone value=billing_cost
-- drilldown: shipments by carrier_zone, currency_code; totals
-- example: "5" and "Zone 5" are two rows and one zone; a line without a zone is a row of its own.
--   lines: carrier_zone | billing_cost
--   5 | 10
--   Zone 5 | 20
--   5 | 12
--   | 4
--   rows: carrier_zone | zone | shipments | share_of_shipments | billing_cost
--   5 | 5 | 2 | 50.00 | 22.0000
--   Zone 5 | 5 | 1 | 25.00 | 20.0000
--   | | 1 | 25.00 | 4.0000
with totals as (
    select
        carrier_zone,
        currency_code,
        count(distinct invoice_id) as invoices,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        sum_lb(billable_weight, billable_weight_unit) as billable_weight_lb,
        per_lb(sum(billing_cost), billable_weight, billable_weight_unit) as cost_per_lb,
        credits_of(billing_cost) as credits
    from selected_shipments
    group by all
)
select
    t.carrier_zone,
    t.currency_code,
    t.invoices,
    t.shipments,
    t.billing_cost,
    per(t.billing_cost, packages_of(t.shipments, r.repeats)) as cost_per_shipment,
    t.billable_weight_lb,
    t.cost_per_lb,
    packages_of(t.shipments, r.repeats) as packages,
    normal_zone(t.carrier_zone) as zone,
    percent_of(t.shipments, sum(t.shipments) over (partition by t.currency_code)) as share_of_shipments,
    t.credits
from totals as t
left join repeats_by(carrier_zone, null, null, null) as r
    on r.a is not distinct from t.carrier_zone and r.currency_code = t.currency_code
order by t.currency_code, zone_number(normal_zone(t.carrier_zone)) nulls last, zone nulls last, t.carrier_zone
