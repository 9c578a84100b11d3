-- name: price-counts
-- A cell is a carrier's service, zone, weight and currency; equal prices are one counted row. Credits, zeros
-- and lines without weight, zone or service are left out.
create or replace temp macro price_counts(period, service, weight, lines) as table
    select
        period as start,
        carrier,
        service as service_level,
        zone,
        weight as rated,
        currency_code,
        billing_cost,
        count(*) as shipments,
        count(*) filter (where is_examined) as examined
    from query_table(lines)
    where billing_cost > 0 and service is not null and zone is not null and billable_weight is not null
    group by all

-- name: monthly-prices
-- The table is kept as long as the filters are: several reports of a page read the shipments once.
create temp table if not exists monthly_prices as
from price_counts(month_start(report_date), service_level, rated, 'loaded_shipments')

-- name: cell-prices
-- n counts the shipments of the cell, up_to those that cost at most this much, for median_at.
create or replace temp macro cell_prices(period, service, lines) as table
    select
        *,
        sum(shipments) over cell as n,
        sum(shipments) over (cell order by billing_cost) as up_to
    from price_counts(period, service, rated, lines)
    window cell as (partition by start, carrier, service_level, zone, rated, currency_code)

-- name: median-cells
-- The median price of each cell in each month. Lists of one or two prices are cheaper than a window over all.
create or replace temp macro median_cells(prices) as table
    select * exclude (middle), twice_middle((middle).low, (middle).high) as twice_median
    from (
        select
            * exclude (most, most_frequent, counted),
            -- A price of more than half of the lines is the median, so few lists need sorting.
            case
                when 2 * most > shipments then counted_value(most_frequent, shipments)
                else middle_values(list_sort(counted), shipments)
            end as middle
        from (
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
                list(counted_value(billing_cost, shipments)) as counted
            from query_table(prices)
            group by all
        )
    )

-- name: monthly-cells
create temp table if not exists monthly_cells as
from median_cells('monthly_prices')

-- name: tenant-prices
create or replace temp view tenant_prices as
from price_counts(month_start(report_date), service_level, rated, 'tenant_shipments')

-- name: tenant-cells
-- Without a filter of tenants these are the cells of all, so that the shipments are read once.
create temp table if not exists tenant_cells as
select * from monthly_cells where getvariable('tenants') is null
union all
select * from median_cells('tenant_prices') where getvariable('tenants') is not null

-- name: all-cells
create or replace temp view all_cells as
select * replace (shipments as examined) from monthly_cells

-- name: price-steps
-- Each cell with its last month before; a month counts with at least this many lines.
create or replace temp macro price_steps(min_shipments, cells := 'tenant_cells') as table
    select
        *,
        lag(twice_median) over (partition by carrier, service_level, zone, rated, currency_code order by start) as before
    from query_table(cells)
    where shipments >= min_shipments

-- name: price-moves
-- Increase or decrease is general when at least 80 % of compared cells agree. by_zone: rows for each zone.
create or replace temp macro price_moves(min_shipments, min_cells, by_zone := false, cells := 'tenant_cells') as table
with
-- The change is a part of the price before in 10^-12, so that a median is rounded once.
parts as (
    select *, rounded_quotient((twice_median - before) * 1000000000000, before) as part
    from price_steps(min_shipments, cells := cells)
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
        count(*) filter (where twice_median > before) as cells_raised,
        count(*) filter (where twice_median < before) as cells_lowered,
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
create or replace temp macro rate_day(day) as
    case when (select count(*) from rates where valid_from is not null or valid_to is not null) > 0 then day end

-- name: fitting-rates
-- Each place with all rates that fit it; `rank` is smallest for the rate that applies.
create or replace temp macro fitting_rates(places) as table
    select
        p.*,
        r.line,
        r.rate,
        row(
            -(
                (r.carrier is not null)::integer + (r.service_level is not null)::integer
                + (r.zone is not null)::integer + (r.from_lb is not null or r.to_lb is not null)::integer
            ),
            -coalesce(r.valid_from - date '0001-01-01', 0),
            r.rate
        ) as rank
    from query_table(places) as p
    join rates as r
        on r.currency_code = p.currency_code
        and (r.from_lb is null or p.exact > exact_weight(r.from_lb, coalesce(r.unit, 'lb')))
        and (r.to_lb is null or p.exact <= exact_weight(r.to_lb, coalesce(r.unit, 'lb')))
        and (r.carrier is null or lower(r.carrier) = lower(p.carrier))
        and (r.service_level is null or lower(r.service_level) = lower(p.service_level))
        and (r.zone is null or normal_zone(r.zone) = p.zone)
        and (r.valid_from is null or p.day >= r.valid_from)
        and (r.valid_to is null or p.day < r.valid_to)

-- name: rated-cells
-- Lines are grouped by all that decides the rate; the rate is null when none fits.
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
    select carrier, service_level, zone, currency_code, exact, day, arg_min(rate, rank) as rate
    from fitting_rates('places')
    group by all
)
select c.*, r.rate
from cells as c
left join rated as r
    on r.carrier = c.carrier and r.service_level is not distinct from c.service_level
    and r.zone is not distinct from c.zone and r.currency_code = c.currency_code and r.exact is not distinct from c.exact
    and r.day is not distinct from c.day

-- name: rate-for
-- The rate of the month itself precedes one for all.
create or replace temp macro rate_for(from_code, to_code, of_month) as
    case
        when from_code = to_code then {rate: cast(1 as decimal(18, 8)), month: null, day: null}
        else (
            select arg_min(
                {rate: f.rate, month: f.month, day: f.day}, {has_no_month: f.month is null, rate: f.rate}
            )
            from fx as f
            where f.from_currency = from_code and f.to_currency = to_code and (f.month is null or f.month = of_month)
        )
    end

-- name: converted-by
-- Amounts of a group are converted by month. A group with a line that has no rate has no amount.
create or replace temp macro converted_by(groups, code) as table
    select
        * exclude (month, shipments, billing_cost, rate),
        converted(billing_cost, rate) as converted_cost,
        if(rate is null, shipments, 0) as unconverted
    from (
        select *, rate_for(currency_code, code, month).rate as rate
        from (
            select
                of_month, of_week, of_tenant, of_carrier, of_service, of_zone, of_origin, of_weight,
                currency_code,
                month_of(report_date) as month,
                count(*) as shipments,
                sum(billing_cost) as billing_cost
            from lines_by(groups, 'selected_shipments')
            where code is not null
            group by all
        )
    )

-- name: converted-months
create or replace temp macro converted_months(code) as table
    select
        * exclude (rated),
        (rated).rate as rate,
        (rated).month as rate_month,
        (rated).day as taken_on,
        converted_amount(sum(converted(billing_cost, (rated).rate)) over ()) as total
    from (
        select *, rate_for(currency_code, code, month) as rated
        from (
            select
                month_of(start) as month,
                currency_code,
                cast(sum(shipments) as bigint) as shipments,
                sum(billing_cost) as billing_cost
            from invoiced_months
            group by all
        )
    )
    order by currency_code, month
