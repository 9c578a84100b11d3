-- How the prices of a carrier's service moved in each month against the last month before in which each cell was seen, a
-- cell being one zone and rated weight. Only cells with an examined line are compared. A month is a general increase when at least 80 % of its compared cells were
-- raised, a general decrease likewise. With by_zone each zone of a service is looked at by itself.
create or replace temp macro price_moves(min_shipments, min_cells, by_zone := false) as table
with
-- A cell's prices from the lowest up: lists of one or two are cheaper here than a window over all of them.
listed as (
    select
        start,
        carrier,
        service_level,
        zone,
        rated,
        currency_code,
        sum(shipments) as shipments,
        sum(examined) as examined,
        max(shipments) as most,
        arg_max(billing_cost, shipments) as most_frequent,
        list(counted_value(billing_cost, shipments)) as prices
    from followed_prices
    group by all
    having sum(shipments) >= min_shipments
),
cells as (
    select * exclude (middle), middle_of((middle).low, (middle).high) as median
    from (
        select
            * exclude (most, most_frequent, prices),
            -- What more than half of them cost is in the middle, whatever the others do; few lists are left to go through.
            case
                when 2 * most > shipments then counted_value(most_frequent, shipments)
                else middle_values(list_sort(prices), shipments)
            end as middle
        from listed
    )
),
changes as (
    select
        *,
        lag(median) over (partition by carrier, service_level, zone, rated, currency_code order by start) as before
    from cells
),
-- A change as a part of the price before, in 10^-12, so that the median of several is rounded once.
parts as (
    select *, rounded_quotient(ten_thousandths(median - before) * 1000000000000, ten_thousandths(before)) as part
    from changes
    where before is not null and examined > 0
),
counted as (
    select
        start,
        carrier,
        service_level,
        if(by_zone, zone, null) as of_zone,
        currency_code,
        count(*) as cells_compared,
        count(*) filter (where median > before) as cells_raised,
        count(*) filter (where median < before) as cells_lowered,
        cast(sum(examined) as bigint) as shipments,
        as_hundredths(rounded_quotient(quantile_disc(part, 0.5) - quantile_disc(-part, 0.5), 200000000))
            as median_change_percent
    from parts
    group by all
)
select
    *,
    case
        when cells_compared >= min_cells and cells_raised * 5 >= cells_compared * 4 then 'general increase'
        when cells_compared >= min_cells and cells_lowered * 5 >= cells_compared * 4 then 'general decrease'
        else 'some prices'
    end as verdict
from counted
where cells_raised + cells_lowered > 0
