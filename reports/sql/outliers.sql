-- title: Cost outliers
-- purpose: Audit, 3
-- grain: shipment
-- source: weights
-- params: $threshold decimal = 3.5: how many robust deviations from the median make an outlier
--   $min_shipments integer = 8: how many lines there must be to compare with
--   $min_amount decimal = 1: smaller differences, in the currency of the row, are left out
--   $min_percent decimal = 10: differences of fewer percent of the median are left out; they are the size of a price change
--   $limit integer = 100000: list at most this many rows of each partner, the first in the report's order
-- means: the filters choose the lines that are examined and may be listed; what they are compared with is everything
--   loaded, whatever its date or tenant. A line is compared with all lines of its carrier, service, zone, rated weight
--   and currency from the same period between two general price changes (as "price-changes" finds them with its usual
--   parameters and no filter, by the date that the report uses; a month with a
--   general change begins a new period; period_from is its first day, empty for the first). The rated weight is the
--   billed weight, rounded up to a whole pound or to the carrier's own step (--weights FILE); lb is that in pounds.
--   like_shipments counts the lines compared, this one included; median is their median, difference the cost less the
--   median. robust_z is the difference divided by 1 / 0.6745 times the median of all distances from the median
--   (Iglewicz and Hoaglin); where that median is zero, by 1.253314 times their mean. The line is listed if robust_z,
--   before it is rounded, is at least the threshold in either direction. Medians are means of the two middle values.
--   Only lines above zero with a service, zone and weight are compared.
-- order: currency; greatest difference first, whatever its sign; tracking_number
-- cannot say: that a charge is wrong. A surcharge, a correction and a mistake look the same.
-- units: billing_cost money, median money, difference money
-- detail: period_from, invoice_id, row_number, rated_weight, rated_unit
-- drilldown: shipments by invoice_id, row_number; billing_cost
-- example: Seven parcels cost 8 to 13 and one 40. Of 8, 9, 10, 10, 11, 12, 13, 40 the median is 10.5; the distances from it
--   are 2.5, 1.5, 0.5, 0.5, 0.5, 1.5, 2.5 and 29.5, their median 1.5. 29.5 / (1.4826 x 1.5) is 13.27.
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
--   H | 40.0000 | 10.5000 | 29.5000 | 13.27 | 8
with
-- A carrier's service from one general price change to the next; the last has no end.
periods as (
    select
        *,
        lead(period_from) over (partition by carrier, service_level, currency_code order by period_from) as period_to
    from (
        select distinct carrier, service_level, currency_code, date '0001-01-01' as period_from from monthly_prices
        union all
        select carrier, service_level, currency_code, start from price_moves(3, 3) where verdict <> 'some prices'
    )
),
-- A cell's prices as ten-thousandths; a median of two middle values is kept doubled, so that it is whole. Lists are less work
-- than windows over all prices. Where even the lowest and the highest are too close, nothing is listed.
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
        -- A price of more than half of the lines is the median, with a median distance of zero, without sorting.
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
-- The total counts only where more than half cost the same.
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
-- The score as a fraction of two whole numbers, so that it is compared before it is rounded.
scored as (
    select
        *,
        case
            when mad_4 > 0 then cast(2 * size - median_2 as hugeint) * 2 * 6745
            else cast(2 * size - median_2 as hugeint) * n * 1000000
        end as score_numerator,
        case when mad_4 > 0 then cast(mad_4 as hugeint) * 10000 else total_2 * 1253314 end as score_denominator
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
-- A price stands for all its examined shipments, so those before it tell whether the limit is reached already.
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
                order by currency_code, distance_2 desc groups between unbounded preceding and 1 preceding
            ),
            0
        ) < $limit
),
-- As one list and out of it again: DuckDB takes prices that were joined for millions, and would hold all lines in memory to find
-- these few among them.
wanted as (
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
join wanted as o
    on o.carrier = s.carrier and o.service_level = s.service_level and o.zone = s.zone
    and o.currency_code = s.currency_code and o.billing_cost = s.billing_cost
    and s.report_date >= o.period_from and (o.period_to is null or s.report_date < o.period_to)
    and o.rated = s.rated
order by s.currency_code, o.distance_2 desc, s.tracking_number, s.invoice_id, s.row_number
limit $limit
