-- name: prices
-- The charges of a view, by cell: a carrier's service into a zone at a rated weight, in one currency and, when
-- asked, one period. Equal prices of a cell are one row with a count. Credits and lines of zero are no prices, and a line
-- without weight, zone or service is in no cell: it is unknown what it may be compared with. `examined` are the shipments that
-- pass the filters.
create or replace temp macro prices(period, service, lines) as table
    select
        period as start,
        carrier,
        service as service_level,
        zone,
        rated,
        currency_code,
        billing_cost,
        count(*) as shipments,
        count(*) filter (where is_examined) as examined
    from query_table(lines)
    where billing_cost > 0 and service is not null and zone is not null and billable_weight is not null
    group by all

-- name: monthly-prices
-- Kept as long as the filters are, so that several reports of a page read the shipments once.
create temp table if not exists monthly_prices as
from prices(month_start(report_date), service_level, 'loaded_shipments')

-- name: followed-prices
-- The prices that price_moves follows. A report that reads them nowhere else does not keep them.
create or replace temp view followed_prices as
from prices(month_start(report_date), service_level, 'tenant_shipments')

-- name: followed-prices-kept
-- A report that keeps monthly prices compares with all of them, so all count as examined.
create or replace temp view followed_prices as
select * replace (shipments as examined) from monthly_prices

-- name: cell-prices
-- The prices of each cell with their place in it: n is how many shipments the cell has and up_to how many cost at most
-- that much, so that the cell's median is median_at(billing_cost, up_to, n).
create or replace temp macro cell_prices(period, service, lines) as table
    select
        *,
        sum(shipments) over cell as n,
        sum(shipments) over (cell order by billing_cost) as up_to
    from prices(period, service, lines)
    window cell as (partition by start, carrier, service_level, zone, rated, currency_code)

-- name: price-moves
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
            -- A price of more than half of the lines is the median, so only few lists need sorting.
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

-- name: rate-day
-- The day on which a line's rate hangs; it matters only where some rate has one.
create or replace temp macro rate_day(day) as
    case when (select count(*) from rates where valid_from is not null or valid_to is not null) > 0 then day end

-- name: rated-cells
-- Lines above zero by all that their agreed rate hangs on, each group with the rate that fits it; null: none does.
create or replace temp view rated_cells as
with cells as (
    select
        carrier,
        service_level,
        zone,
        currency_code,
        exact_weight(billable_weight, billable_weight_unit) as exact,
        rate_day(report_date) as day,
        billing_cost,
        count(*) as shipments
    from selected_shipments
    where billing_cost > 0
    group by all
),
places as (
    select distinct carrier, service_level, zone, currency_code, exact, day from cells
),
rated as (
    select
        p.carrier,
        p.service_level,
        p.zone,
        p.currency_code,
        p.exact,
        p.day,
        arg_min(
            r.rate,
            row(
                -(
                    (r.carrier is not null)::integer + (r.service_level is not null)::integer
                    + (r.zone is not null)::integer + (r.from_lb is not null or r.to_lb is not null)::integer
                ),
                -coalesce(r.valid_from - date '0001-01-01', 0),
                r.rate
            )
        ) as rate
    from places as p
    join rates as r
        on r.currency_code = p.currency_code
        and (r.from_lb is null or p.exact > exact_weight(r.from_lb, coalesce(r.unit, 'lb')))
        and (r.to_lb is null or p.exact <= exact_weight(r.to_lb, coalesce(r.unit, 'lb')))
        and (r.carrier is null or lower(r.carrier) = lower(p.carrier))
        and (r.service_level is null or lower(r.service_level) = lower(p.service_level))
        and (r.zone is null or normal_zone(r.zone) = p.zone)
        and (r.valid_from is null or p.day >= r.valid_from)
        and (r.valid_to is null or p.day < r.valid_to)
    group by all
)
select c.*, r.rate
from cells as c
left join rated as r
    on r.carrier = c.carrier and r.service_level is not distinct from c.service_level
    and r.zone is not distinct from c.zone and r.currency_code = c.currency_code and r.exact is not distinct from c.exact
    and r.day is not distinct from c.day

-- name: no-rated-weights
-- Without --weights every carrier rates in whole pounds, and no weight has to be looked up.
create or replace temp table rated_weights (
    carrier varchar, billable_weight decimal(18, 4), billable_weight_unit varchar, rated bigint
)

-- name: rated-weights
-- The rated weight of each billed weight and carrier, by the steps of --weights. Units are 10^-14 lb
-- (exact_weight).
create or replace temp table rated_weights as
with bands as (
    select
        lower(coalesce(carrier, '')) as carrier,
        unit,
        ten_thousandths(step) as step,
        size_of_unit(unit) as unit_size,
        exact_weight(up_to, unit) as up_to
    from weights
    union all
    -- Other carriers rate in whole pounds.
    select '', 'lb', 10000, 10000000000, null where not exists (select 1 from weights where carrier is null)
),
carriers as (
    select c.carrier, coalesce(b.carrier, '') as band_carrier
    from (select distinct carrier from loaded_shipments) as c
    left join (select distinct carrier from bands) as b on b.carrier = lower(c.carrier)
),
billed as (
    select
        billable_weight,
        billable_weight_unit,
        exact_weight(billable_weight, billable_weight_unit) as exact
    from (select distinct billable_weight, billable_weight_unit from loaded_shipments where billable_weight is not null)
),
banded as (
    select
        c.carrier,
        w.billable_weight,
        w.billable_weight_unit,
        any_value(w.exact) as exact,
        arg_min(
            {step: b.step, unit_size: b.unit_size, unit: b.unit},
            {is_open: b.up_to is null, up_to: coalesce(b.up_to, 0)}
        ) as band
    from carriers as c
    cross join billed as w
    join bands as b on b.carrier = c.band_carrier and (b.up_to is null or w.exact <= b.up_to)
    group by all
),
stepped as (
    select
        *,
        (band).step * (band).unit_size as step_size,
        case when exact > 0 then (exact + step_size - 1) // step_size else -(-exact // step_size) end as steps
    from banded
)
select
    carrier,
    billable_weight,
    billable_weight_unit,
    {
        exact: steps * step_size,
        lb: as_amount(rounded_quotient(steps * step_size, 10000000000)),
        weight: as_amount(steps * (band).step),
        unit: (band).unit
    } as rated
from stepped

-- name: rated-as
-- A rated weight already contains its pounds, weight and unit.
create or replace temp macro rated_as(rated) as rated
