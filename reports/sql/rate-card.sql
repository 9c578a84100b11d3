-- title: What price was really paid for each service, zone and pound?
-- grain: carrier, service level, zone in one spelling, begun pound, currency
-- params: $min_shipments integer = 1: leave out cells with fewer shipments
-- means: median and deciles are prices that were really billed (the lower of two middle ones), so they are exact.
--   distinct_prices tells how firm a cell is: 1 is a rate card, many are surcharges or changes within the period.
-- cannot say: list price or discount. Credits and lines of zero are left out; surcharges cannot be told from freight.
-- units: lb lb, lowest money, first_decile money, median money, last_decile money, highest money
with
-- Equal prices of a cell are one row with a count, so that medians and deciles come from running counts over few rows.
prices as (
    select
        carrier,
        service_level,
        zone,
        rated_lb(billable_weight, billable_weight_unit) as lb,
        currency_code,
        billing_cost,
        count(*) as shipments
    from selected_shipments
    where billing_cost > 0
    group by all
),
counted as (
    select
        *,
        sum(shipments) over cell as n,
        sum(shipments) over (cell order by billing_cost) as up_to
    from prices
    window cell as (partition by carrier, service_level, zone, lb, currency_code)
)
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
from counted
group by carrier, service_level, zone, lb, currency_code
having sum(shipments) >= $min_shipments
order by currency_code, carrier, service_level, try_cast(zone as integer) nulls last, zone, lb nulls last
