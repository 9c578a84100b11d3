-- The charges that are counted, by cell: a carrier's service into a zone at a begun pound, in one currency and, when
-- asked, one period. Equal prices of a cell are one row with a count; n is how many shipments the cell has and up_to
-- how many cost at most that much, so that a median is min(billing_cost) filter (where 2 * up_to >= n): the lower of
-- two middle prices, one that was really billed. Credits and lines of zero are no prices.
create or replace temp macro cell_prices(period, service) as table
    select
        *,
        sum(shipments) over cell as n,
        sum(shipments) over (cell order by billing_cost) as up_to
    from (
        select
            period as start,
            carrier,
            service as service_level,
            zone,
            rated_lb(billable_weight, billable_weight_unit) as lb,
            currency_code,
            billing_cost,
            count(*) as shipments
        from selected_shipments
        where billing_cost > 0
        group by all
    )
    window cell as (partition by start, carrier, service_level, zone, lb, currency_code)
