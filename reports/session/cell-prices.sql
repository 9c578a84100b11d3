-- The prices of each cell with their place in it: n is how many shipments the cell has and up_to how many cost at most
-- that much, so that the cell's median is median_at(billing_cost, up_to, n).
create or replace temp macro cell_prices(period, service, lines) as table
    select
        *,
        sum(shipments) over cell as n,
        sum(shipments) over (cell order by billing_cost) as up_to
    from prices(period, service, lines)
    window cell as (partition by start, carrier, service_level, zone, rated, currency_code)
