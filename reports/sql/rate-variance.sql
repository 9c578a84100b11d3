-- title: Variance from agreed rates
-- purpose: Audit, 2
-- grain: carrier, service level, currency
-- source: rates
-- means: each line above zero is compared with the line of your rates (--rates FILE) that fits its carrier and
--   service level (in upper or lower case), its zone (in one spelling), its weight before rounding (above from_lb, up
--   to and including to_lb; in kilograms or ounces where the column unit says kg or oz; the columns may be called
--   from_weight and to_weight), its currency and the reported date (from valid_from on, before valid_to). unit,
--   valid_from and valid_to may be missing. An empty cell fits everything, also a shipment that has no such value. If
--   several fit, the one that names the most counts (of carrier, service level, zone, and weight, which one bound or
--   both name), then the one valid from the latest day (one without valid_from after all others), then the lowest
--   rate. shipments and billing_cost count all lines above zero, covered_shipments and covered_cost those with a rate,
--   coverage_percent the covered part of the lines. variance is covered_cost less expected_cost; overcharged_shipments
--   and overcharged_cost count the lines billed above their rate, and by how much.
-- order: currency; highest variance first; carrier; service_level
-- cannot say: which part of a variance is a surcharge. Without a file no line is covered.
-- units: coverage_percent %, billing_cost money, covered_cost money, expected_cost money, variance money,
--   overcharged_cost money
-- chart: bar key=carrier+service_level value=variance
-- drilldown: shipments by carrier, service_level, currency_code
-- example: Ground of up to two pounds was agreed at 9.50, and at 10 from March on; whatever else UPS carries at 12. The
--   line of 2 March is billed at 10.40, 0.40 too much; that of February as agreed; three pounds cost 12 as agreed.
--   lines: ship_date | service_level | billable_weight | billing_cost
--   2026-02-20 | Ground | 2 | 9.5
--   2026-03-02 | Ground | 2 | 10.4
--   2026-03-03 | Ground | 3 | 12
--   rates: carrier | service_level | zone | from_lb | to_lb | currency_code | rate | valid_from
--   UPS | ground | | 0 | 2 | USD | 9.5 |
--   UPS | ground | | 0 | 2 | USD | 10 | 2026-03-01
--   UPS | | | | | USD | 12 |
--   rows: carrier | shipments | covered_shipments | billing_cost | expected_cost | variance | overcharged_shipments
--   ups | 3 | 3 | 31.9000 | 31.5000 | 0.4000 | 1
select
    c.carrier,
    c.service_level,
    c.currency_code,
    sum(c.shipments) as shipments,
    coalesce(sum(c.shipments) filter (where c.rate is not null), 0) as covered_shipments,
    percent_of(coalesce(sum(c.shipments) filter (where c.rate is not null), 0), sum(c.shipments)) as coverage_percent,
    sum(cast(c.billing_cost * c.shipments as decimal(38, 4))) as billing_cost,
    coalesce(sum(cast(c.billing_cost * c.shipments as decimal(38, 4))) filter (where c.rate is not null), 0)
        as covered_cost,
    coalesce(sum(cast(c.rate * c.shipments as decimal(38, 4))), 0) as expected_cost,
    coalesce(sum(cast((c.billing_cost - c.rate) * c.shipments as decimal(38, 4))), 0) as variance,
    coalesce(sum(c.shipments) filter (where c.billing_cost > c.rate), 0) as overcharged_shipments,
    coalesce(
        sum(cast((c.billing_cost - c.rate) * c.shipments as decimal(38, 4))) filter (where c.billing_cost > c.rate), 0
    ) as overcharged_cost
from rated_cells as c
group by c.carrier, c.service_level, c.currency_code
order by c.currency_code, variance desc, c.carrier, c.service_level
