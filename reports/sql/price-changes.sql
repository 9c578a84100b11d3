-- title: When did prices change, and was it a general increase?
-- grain: month, carrier, service level, currency
-- params: $min_shipments integer = 3: a cell counts in a month with at least so many shipments
--   $min_cells integer = 3: fewer compared cells are never called general
-- means: a cell is one zone and begun pound of a service. Its median price (one really billed) is compared with its
--   median in the last month before in which it was seen. A month is a general increase when at least 80 % of its
--   compared cells were raised, a general decrease likewise. Months without any change are left out.
-- cannot say: why. A new contract, a surcharge folded in and a general rate increase look the same from outside.
-- units: share_raised %, median_change_percent %
-- chart: line key=month value=median_change_percent series=carrier+service_level
with
-- A cell's prices from the lowest up: lists of one or two are cheaper here than a window over all of them. Cells are
-- asked whether they have a pound, since to ask each shipment would be to work it out twice.
listed as (
    select
        start,
        carrier,
        service_level,
        zone,
        lb,
        currency_code,
        sum(shipments) as shipments,
        list_sort(list({price: billing_cost, up_to: shipments})) as prices
    from prices(month_start(report_date), service_level)
    group by all
    having sum(shipments) >= $min_shipments and count(lb) > 0
),
-- The lowest price with which half of the shipments are reached.
cells as (
    select
        * exclude (prices),
        list_reduce(
            prices,
            lambda reached, next: if(
                2 * reached.up_to >= shipments, reached, {price: next.price, up_to: reached.up_to + next.up_to}
            )
        ).price as median
    from listed
),
changes as (
    select
        *,
        lag(median) over (partition by carrier, service_level, zone, lb, currency_code order by start) as before
    from cells
),
counted as (
    select
        start,
        carrier,
        service_level,
        currency_code,
        count(*) as cells_compared,
        count(*) filter (where median > before) as cells_raised,
        count(*) filter (where median < before) as cells_lowered,
        sum(shipments) as shipments,
        quantile_disc(percent_of(median - before, before), 0.5) as median_change_percent
    from changes
    where before is not null
    group by all
)
select
    month_of(start) as month,
    carrier,
    service_level,
    currency_code,
    cells_compared,
    cells_raised,
    cells_lowered,
    percent_of(cells_raised, cells_compared) as share_raised,
    median_change_percent,
    cast(shipments as bigint) as shipments,
    case
        when cells_compared >= $min_cells and cells_raised * 5 >= cells_compared * 4 then 'general increase'
        when cells_compared >= $min_cells and cells_lowered * 5 >= cells_compared * 4 then 'general decrease'
        else 'some prices'
    end as verdict
from counted
where cells_raised + cells_lowered > 0
order by currency_code, start, carrier, service_level
