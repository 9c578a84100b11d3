-- title: What price was really paid for each service, zone and pound?
-- grain: carrier, service level, zone in one spelling, begun pound, currency
-- params: $min_shipments integer = 1: leave out cells with fewer shipments
-- means: median and deciles are prices that were really billed (the lower of two middle ones), so they are exact.
--   distinct_prices tells how firm a cell is: 1 is a rate card, many are surcharges or changes within the period.
-- cannot say: list price or discount. Credits and lines of zero are left out; surcharges cannot be told from freight.
-- units: lb lb, lowest money, first_decile money, median money, last_decile money, highest money
select
    carrier,
    service_level,
    zone,
    lb,
    currency_code,
    cast(sum(shipments) as bigint) as shipments,
    min(billing_cost) as lowest,
    min(billing_cost) filter (where 10 * up_to >= n) as first_decile,
    min(billing_cost) filter (where 2 * up_to >= n) as median,
    min(billing_cost) filter (where 10 * up_to >= 9 * n) as last_decile,
    max(billing_cost) as highest,
    count(*) as distinct_prices
from cell_prices(null, service_level)
group by carrier, service_level, zone, lb, currency_code
having sum(shipments) >= $min_shipments
order by currency_code, carrier, service_level, try_cast(zone as integer) nulls last, zone, lb nulls last
