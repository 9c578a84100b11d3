-- title: Cost outliers
-- purpose: Audit, 3
-- grain: shipment
-- source: weights
-- params: $threshold decimal = 3.5: the number of robust deviations from the median that make an outlier
--   $min_shipments integer = 8: the number of lines to compare with
--   $min_amount decimal = 1: smaller differences, in the currency of the row, are left out
--   $min_percent decimal = 10: differences of fewer percent of the median are left out
--   $limit integer = 100000: list at most this many rows of each partner and currency, the first in the report's order
-- means: Charges that differ clearly from like charges: the same carrier, service, zone, rated weight and currency,
--   between two general price changes (see `price-changes`). The filters choose the charges that may be listed; they
--   are compared with everything loaded. `robust_z` is the difference from the median divided by 1.4826 times the
--   median distance from it (Iglewicz and Hoaglin), or by 1.253314 times the mean distance when that median is zero.
--   `like_shipments` counts the charges that are compared.
-- order: currency; greatest difference first, whatever its sign; tracking_number
-- limits: A surcharge, a correction and a mistake look the same.
-- units: lb -, rated_weight -
-- detail: period_from, invoice_id, row_number, rated_weight, rated_unit
-- drilldown: shipments by invoice_id, row_number; billing_cost
-- example: Of 8, 9, 10, 10, 11, 12, 13 and 40 the median is 10.5. The median distance from it is 1.5, and 29.5 /
--   (1.4826 x 1.5) is 13.26.
--   lines: tracking_number | billing_cost
--   A | 8
--   B | 9
--   C | 10
--   D | 10
--   E | 11
--   F | 12
--   G | 13
--   H | 40
--   rows: tracking_number | billing_cost | median | difference | robust_z | like_shipments
--   H | 40.0000 | 10.5000 | 29.5000 | 13.26 | 8
with
-- A period is that of a carrier's service between two general price changes; the last one has no end.
periods as (
    select
        *,
        lead(period_from) over (partition by carrier, service_level, currency_code order by period_from) as period_to
    from (
        select distinct carrier, service_level, currency_code, date '0001-01-01' as period_from from monthly_prices
        union all
        select carrier, service_level, currency_code, start from price_moves(3, 3, cells := 'all_cells') where verdict <> 'some prices'
    )
),
-- Prices are in ten-thousandths; medians are doubled, so that they are whole. A cell whose extreme prices are close has no outlier.
cells as (
    select
        m.carrier,
        m.service_level,
        m.zone,
        m.rated,
        m.currency_code,
        p.period_from,
        p.period_to,
        cast(sum(m.shipments) as bigint) as n,
        -- A price of more than half of the lines is the median, with a median distance of zero.
        2 * max(m.shipments) > sum(m.shipments) as is_firm,
        cast(ten_thousandths(arg_max(m.billing_cost, m.shipments)) as bigint) as most_frequent,
        list(counted_value(cast(ten_thousandths(m.billing_cost) as bigint), m.shipments)) as prices,
        list(m.examined) as examined
    from monthly_prices as m
    join periods as p
        on p.carrier = m.carrier and p.service_level = m.service_level and p.currency_code = m.currency_code
        and m.start >= p.period_from and (p.period_to is null or m.start < p.period_to)
    group by all
    having
        sum(m.shipments) >= $min_shipments
        and sum(m.examined) > 0
        and max(m.billing_cost) - min(m.billing_cost) >= $min_amount
        and ten_thousandths(max(m.billing_cost) - min(m.billing_cost)) * 1000000
            >= ten_thousandths(min(m.billing_cost)) * ten_thousandths($min_percent)
),
medians as (
    select * exclude (middle), (middle).low + (middle).high as median_2
    from (
        select
            *,
            if(is_firm, counted_value(most_frequent, n), middle_values(list_sort(prices), n)) as middle
        from cells
    )
),
distant as (
    select
        *,
        case
            when not is_firm
                then list_sort(list_transform(
                    prices, lambda price: counted_value(abs(2 * price.low - median_2), price.up_to)
                ))
        end as distances
    from medians
),
spread as (
    select * exclude (middle), if(is_firm, 0, (middle).low + (middle).high) as mad_4
    from (select *, middle_values(distances, n) as middle from distant)
),
totalled as (
    select
        * exclude (prices, examined, distances, most_frequent, is_firm),
        case
            when mad_4 = 0
                then list_sum(list_transform(
                    prices, lambda price: cast(abs(2 * price.low - median_2) as hugeint) * price.up_to
                ))
        end as total_2,
        unnest(prices) as price,
        unnest(examined) as examined
    from spread
),
priced as (
    select * exclude (price), (price).low as size, abs(2 * size - median_2) as distance_2
    from totalled
),
-- The score stays a fraction of two whole numbers until it is compared, because a rounded score could pass or miss the threshold
-- wrongly.
scored as (
    select
        *,
        case
            when mad_4 > 0 then cast(2 * size - median_2 as hugeint) * 2 * 10000
            else cast(2 * size - median_2 as hugeint) * n * 1000000
        end as score_numerator,
        case when mad_4 > 0 then cast(mad_4 as hugeint) * 14826 else total_2 * 1253314 end as score_denominator
    from priced
    where examined > 0 and distance_2 > 0
    and distance_2 >= 2 * ten_thousandths($min_amount)
    and cast(distance_2 as hugeint) * 1000000 >= ten_thousandths($min_percent) * median_2
),
-- Months of one period may have had the same price.
far as (
    select * exclude (examined), sum(examined) as shipments
    from scored
    where abs(score_numerator) * 10000 >= ten_thousandths($threshold) * score_denominator
    group by all
),
-- A price has all its examined shipments, so the limit is reached when those before it are enough.
chosen as (
    select
        * exclude (size, score_numerator, score_denominator, mad_4, total_2),
        cast(as_amount(size) as decimal(18, 4)) as billing_cost,
        as_amount(rounded_quotient(median_2, 2)) as median,
        as_amount(rounded_quotient(2 * size - median_2, 2)) as difference,
        as_hundredths(rounded_quotient(score_numerator * 100, score_denominator)) as robust_z,
        (rated_as(rated)).lb as lb,
        (rated_as(rated)).weight as rated_weight,
        (rated_as(rated)).unit as rated_unit
    from far
    qualify
        coalesce(
            sum(shipments) over (
                partition by currency_code order by distance_2 desc groups between unbounded preceding and 1 preceding
            ),
            0
        ) < $limit
),
-- The lines pass through a list: after a join DuckDB expects millions of rows and would keep all lines in memory.
listed as (
    select unnest(prices, max_depth := 2) from (select list(c) as prices from chosen as c)
)
select
    s.tenant,
    s.invoice_number,
    s.ship_date,
    s.carrier,
    s.service_level,
    s.zone,
    o.lb,
    s.currency_code,
    s.tracking_number,
    s.billing_cost,
    o.median,
    o.difference,
    o.robust_z,
    o.n as like_shipments,
    nullif(o.period_from, date '0001-01-01') as period_from,
    s.invoice_id,
    s.row_number,
    o.rated_weight,
    o.rated_unit
from selected_shipments as s
join listed as o
    on o.carrier = s.carrier and o.service_level = s.service_level and o.zone = s.zone
    and o.currency_code = s.currency_code and o.billing_cost = s.billing_cost
    and s.report_date >= o.period_from and (o.period_to is null or s.report_date < o.period_to)
    and o.rated = s.rated
qualify row_number() over (
    partition by s.currency_code order by o.distance_2 desc, s.tracking_number, s.invoice_id, s.row_number
) <= $limit
order by s.currency_code, o.distance_2 desc, s.tracking_number, s.invoice_id, s.row_number
