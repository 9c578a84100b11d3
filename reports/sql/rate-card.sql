-- title: Effective rate card
-- purpose: Audit, 1
-- grain: carrier, service level, zone in one spelling, rated weight, currency
-- source: weights
-- params: $min_shipments integer = 1: leave out cells with fewer shipments
-- means: Billed prices by service, zone and rated weight: the billed weight rounded up to a whole pound, or to the
--   carrier's own step (`--weights FILE`). A median is the mean of the two middle prices; deciles are prices that were
--   billed. One distinct price means a price list; many mean surcharges or price changes. Only charges with a service,
--   zone and weight count.
-- order: currency; carrier; service_level; zone (numbers first, by size, then others by name); rated weight
-- limits: The list price and the discount are not known. Surcharges are not separate from freight.
-- units: lb lb, rated_weight -
-- detail: rated_weight, rated_unit
-- drilldown: shipments by carrier, service_level, zone, lb as rated_lb, currency_code
-- example: Up to a pound the carrier rates in steps of four ounces, above in whole pounds. Four parcels rated at 2 lb
--   into zone 5 ("Zone 5" and "05" are one) cost 8, 9, 10 and 20: the median is 9.5. The credit is no price, and the line without a zone is in no cell.
--   lines: carrier_zone | billable_weight | billing_cost
--   5 | 2 | 8
--   05 | 1.2 | 9
--   Zone 5 | 2 | 10
--   5 | 1.01 | 20
--   5 | 2 | -8
--   | 2 | 4
--   weights: carrier | unit | step | up_to
--   ups | oz | 4 | 16
--   ups | lb | 1 |
--   rows: zone | lb | shipments | lowest | first_decile | median | last_decile | highest | distinct_prices
--   5 | 2.0000 | 4 | 8.0000 | 8.0000 | 9.5000 | 20.0000 | 20.0000 | 4
select
    carrier,
    service_level,
    zone,
    (rated_as(rated)).lb as lb,
    currency_code,
    cast(sum(shipments) as bigint) as shipments,
    min(billing_cost) as lowest,
    min(billing_cost) filter (where 10 * up_to >= n) as first_decile,
    median_at(billing_cost, up_to, n) as median,
    min(billing_cost) filter (where 10 * up_to >= 9 * n) as last_decile,
    max(billing_cost) as highest,
    count(*) as distinct_prices,
    (rated_as(rated)).weight as rated_weight,
    (rated_as(rated)).unit as rated_unit
from cell_prices(null, service_level, 'selected_shipments')
group by carrier, service_level, zone, rated, currency_code
having sum(shipments) >= $min_shipments
order by currency_code, carrier, service_level, zone_number(zone) nulls last, zone, rated
