-- title: Cost by carrier zone
-- purpose: Spend, 5
-- grain: carrier zone as the carrier wrote it, currency
-- means: One row for each spelling of a zone; `zone` is the zone in one spelling ("Zone 5", "05" and "5" are 5). Lines
--   without a zone have a row of their own. `billing_cost` includes credits (lines below zero). `cost_per_shipment` is
--   per package; a package with lines in two zones counts in both.
-- order: currency; zone (numbers first, by size, then others by name, then none); carrier_zone
-- limits: A zone is not a distance: the same number differs between carriers and services (`cost` by `carrier+zone`
--   keeps them apart).
-- units: billable_weight_lb lb, cost_per_lb money/lb, share_of_shipments %
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
select
    a as carrier_zone,
    currency_code,
    invoices,
    shipments,
    billing_cost,
    cost_per_shipment,
    billable_weight_lb,
    cost_per_lb,
    packages,
    normal_zone(a) as zone,
    percent_of(shipments, sum(shipments) over (partition by currency_code)) as share_of_shipments,
    credits
from totals_by('invoiced_zones', carrier_zone, null)
order by currency_code, zone_number(normal_zone(a)) nulls last, zone nulls last, carrier_zone
