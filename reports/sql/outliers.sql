-- title: Which shipments cost far more or less than their like?
-- grain: shipment
-- params: $threshold decimal = 3.5: how many robust deviations away
--   $min_shipments integer = 8: a cell needs so many to judge by
--   $min_amount decimal = 1: differences of less, in the currency of the row, are not worth a look
--   $min_percent decimal = 10: differences of less than so many percent of the median are of the size of a price change
--   $limit integer: at most so many, the most money first; without it all
-- means: a shipment is compared with those of its carrier, service, zone, begun pound and currency, within the months
--   between two general price changes (as "price-changes" calls them; the month of a change begins the new period).
--   robust_z is the distance from their median in units of 1.4826 times the median distance (Iglewicz and Hoaglin);
--   where more than half cost exactly the same it is in units of 1.2533 times the mean distance. It is held against the
--   threshold before it is rounded. Medians are the mean of the two middle values. difference is the money at stake:
--   what it cost over the median.
-- cannot say: that it is wrong. A surcharge, a correction and a mistake look the same. Credits, lines of zero and lines
--   without a service, zone or weight are not compared.
-- units: billing_cost money, median money, difference money
-- detail: period_from, invoice_id, row_number
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
-- The months of a carrier's service, each with the number of general price changes until then.
periods as (
    select m.start, m.carrier, m.service_level, m.currency_code, coalesce(max(g.start), date '0001-01-01') as period_from
    from (select distinct start, carrier, service_level, currency_code from monthly_prices) as m
    left join price_moves(3, 3) as g
        on g.carrier = m.carrier and g.service_level = m.service_level and g.currency_code = m.currency_code
        and g.start <= m.start and g.verdict <> 'some prices'
    group by m.start, m.carrier, m.service_level, m.currency_code
),
-- Amounts as ten-thousandths, doubled wherever a median of two middle values may halve them.
priced as (
    select
        m.carrier,
        m.service_level,
        m.zone,
        m.lb,
        m.currency_code,
        p.period_from,
        m.billing_cost,
        cast(ten_thousandths(m.billing_cost) as bigint) as size,
        cast(sum(m.shipments) as bigint) as shipments
    from monthly_prices as m
    join periods as p
        on p.start = m.start and p.carrier = m.carrier and p.service_level = m.service_level
        and p.currency_code = m.currency_code
    group by all
),
placed as (
    select
        *,
        cast(sum(shipments) over cell as bigint) as n,
        cast(sum(shipments) over (cell order by size) as bigint) as up_to
    from priced
    window cell as (partition by carrier, service_level, zone, lb, currency_code, period_from)
),
medians as (
    select
        *,
        min(size) filter (where 2 * up_to >= n) over cell + min(size) filter (where 2 * up_to > n) over cell as median_2
    from placed
    where n >= $min_shipments
    window cell as (partition by carrier, service_level, zone, lb, currency_code, period_from)
),
ranked as (
    select
        *,
        abs(2 * size - median_2) as distance_2,
        sum(shipments) over (cell order by abs(2 * size - median_2)) as within,
        sum(shipments * abs(2 * size - median_2)) over cell as total_2
    from medians
    window cell as (partition by carrier, service_level, zone, lb, currency_code, period_from)
),
spread as (
    select
        *,
        min(distance_2) filter (where 2 * within >= n) over cell
        + min(distance_2) filter (where 2 * within > n) over cell as mad_4
    from ranked
    window cell as (partition by carrier, service_level, zone, lb, currency_code, period_from)
),
-- The score as a fraction of two whole numbers, so that it is compared before it is rounded.
scored as (
    select
        *,
        case
            when mad_4 > 0 then cast(2 * size - median_2 as hugeint) * 2 * 6745
            else cast(2 * size - median_2 as hugeint) * n * 1000000
        end as score_numerator,
        case when mad_4 > 0 then cast(mad_4 as hugeint) * 10000 else cast(total_2 as hugeint) * 1253314 end
            as score_denominator
    from spread
    where distance_2 > 0
),
-- A price stands for all its shipments, so those before it tell whether the limit is reached already.
wanted as (
    select *
    from scored
    where abs(score_numerator) * 10000 >= ten_thousandths($threshold) * score_denominator
    and distance_2 >= 2 * ten_thousandths($min_amount)
    and cast(distance_2 as hugeint) * 1000000 >= ten_thousandths($min_percent) * median_2
    qualify
        $limit is null
        or coalesce(
            sum(shipments) over (
                order by currency_code, distance_2 desc groups between unbounded preceding and 1 preceding
            ),
            0
        ) < $limit
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
    as_amount(rounded_quotient(o.median_2, 2)) as median,
    as_amount(rounded_quotient(2 * o.size - o.median_2, 2)) as difference,
    as_hundredths(rounded_quotient(o.score_numerator * 100, o.score_denominator)) as robust_z,
    o.n as like_shipments,
    nullif(o.period_from, date '0001-01-01') as period_from,
    s.invoice_id,
    s.row_number
from selected_shipments as s
join periods as p
    on p.start = month_start(s.report_date) and p.carrier = s.carrier and p.service_level = s.service_level
    and p.currency_code = s.currency_code
join wanted as o
    on o.carrier = s.carrier and o.service_level = s.service_level and o.zone = s.zone
    and o.currency_code = s.currency_code and o.billing_cost = s.billing_cost and o.period_from = p.period_from
    and o.lb = rated_lb(s.billable_weight, s.billable_weight_unit)
order by s.currency_code, o.distance_2 desc, s.tracking_number, s.invoice_id, s.row_number
limit $limit
