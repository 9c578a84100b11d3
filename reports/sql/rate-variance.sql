-- title: Variance from agreed rates
-- purpose: Audit, 2
-- grain: carrier, service level, currency
-- source: rates
-- means: Each charge compared with your agreed rate (`--rates FILE`). A rate fits by carrier, service, zone, weight
--   (above `from_lb`, up to `to_lb`), currency and date (from `valid_from` on, before `valid_to`); an empty cell fits
--   all. Of several rates the one that names the most counts, then the latest, then the lowest. `variance` is
--   `covered_cost` less `expected_cost`; `overcharged_cost` is the part above the rates.
-- order: currency; highest variance first; carrier; service_level
-- limits: The part of a variance that is a surcharge is not known. Without a file no line is covered.
-- units: coverage_percent %
-- chart: bar key=carrier+service_level value=variance
-- drilldown: shipments by carrier, service_level, currency_code
-- example: Ground up to two pounds was agreed at 9.50, from March on at 10; anything else of UPS at 12. The line of 2
--   March is billed at 10.40, 0.40 too much; the other two as agreed.
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
