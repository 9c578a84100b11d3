-- title: What price was really paid for each service, zone and pound?
-- grain: carrier, service level, zone in one spelling, begun pound, currency
-- params: $min_shipments integer = 1: leave out cells with fewer shipments
-- means: the median is the mean of the two middle prices, rounded once. A decile is a price that was really billed: the
--   lowest that at least a tenth (nine tenths) of the shipments cost at most. distinct_prices tells how firm a cell is: 1
--   is a rate card, many are surcharges or changes within the period. Kilograms are brought to pounds at 2.2046226218;
--   every begun pound counts.
-- cannot say: list price or discount; surcharges cannot be told from freight. Credits and lines of zero are no prices,
--   and lines without a service, zone or weight are in no cell: all of these are left out.
-- units: lb lb, lowest money, first_decile money, median money, last_decile money, highest money
-- example: Four parcels of begun 2 lb into zone 5 ("Zone 5" and "05" are one) cost 8, 9, 10 and 20: the median is 9.5. The
--   credit is no price, and the line without a zone is in no cell.
--   lines: carrier_zone | billable_weight | billing_cost
--   5 | 2 | 8
--   05 | 1.2 | 9
--   Zone 5 | 2 | 10
--   5 | 1.01 | 20
--   5 | 2 | -8
--   | 2 | 4
--   rows: zone | lb | shipments | lowest | first_decile | median | last_decile | highest | distinct_prices
--   5 | 2 | 4 | 8.0000 | 8.0000 | 9.5000 | 20.0000 | 20.0000 | 4
select
    carrier,
    service_level,
    zone,
    lb,
    currency_code,
    cast(sum(shipments) as bigint) as shipments,
    min(billing_cost) as lowest,
    min(billing_cost) filter (where 10 * up_to >= n) as first_decile,
    median_at(billing_cost, up_to, n) as median,
    min(billing_cost) filter (where 10 * up_to >= 9 * n) as last_decile,
    max(billing_cost) as highest,
    count(*) as distinct_prices
from cell_prices(null, service_level)
group by carrier, service_level, zone, lb, currency_code
having sum(shipments) >= $min_shipments
order by currency_code, carrier, service_level, try_cast(zone as integer) nulls last, zone, lb nulls last
