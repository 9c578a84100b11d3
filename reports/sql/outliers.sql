-- title: Which shipments cost far more or less than their like?
-- grain: shipment
-- params: $threshold decimal = 3.5: how many robust deviations away
--   $min_shipments integer = 8: a cell needs so many to judge by
--   $limit integer: at most so many, the most money first; without it all
-- means: a shipment is compared with those of its carrier, service, zone, begun pound and currency. robust_z is the
--   distance from their median in units of 1.4826 times the median distance (Iglewicz and Hoaglin); where more than
--   half cost exactly the same it is in units of 1.2533 times the mean distance. difference is what it cost over the median.
-- cannot say: that it is wrong. A surcharge, a correction and a mistake look the same. Credits are left out.
-- units: billing_cost money, median money, difference money
-- detail: invoice_id, row_number
with distances as (
    select
        * exclude (start, up_to),
        min(billing_cost) filter (where 2 * up_to >= n) over cell as median
    from cell_prices(null, service_level)
    where n >= $min_shipments
    window cell as (partition by carrier, service_level, zone, lb, currency_code)
),
ranked as (
    select
        *,
        sum(shipments) over (cell order by abs(billing_cost - median)) as within,
        sum(shipments * abs(billing_cost - median)) over cell as total_distance
    from distances
    window cell as (partition by carrier, service_level, zone, lb, currency_code)
),
spread as (
    select
        *,
        min(abs(billing_cost - median)) filter (where 2 * within >= n) over cell as mad
    from ranked
    window cell as (partition by carrier, service_level, zone, lb, currency_code)
),
scored as (
    select
        *,
        as_hundredths(
            case
                when mad > 0
                    then rounded_quotient(ten_thousandths(billing_cost - median) * 6745, ten_thousandths(mad) * 100)
                else rounded_quotient(
                    ten_thousandths(billing_cost - median) * n * 100000000, ten_thousandths(total_distance) * 1253314
                )
            end
        ) as robust_z
    from spread
),
-- A price stands for all its shipments, so those before it tell whether the limit is reached already.
wanted as (
    select *
    from scored
    where abs(robust_z) >= $threshold
    qualify
        $limit is null
        or coalesce(
            sum(shipments) over (
                order by currency_code, abs(billing_cost - median) desc
                groups between unbounded preceding and 1 preceding
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
    o.median,
    s.billing_cost - o.median as difference,
    o.robust_z,
    cast(o.n as bigint) as like_shipments,
    s.invoice_id,
    s.row_number
from selected_shipments as s
join wanted as o
    on o.carrier = s.carrier and o.service_level is not distinct from s.service_level
    and o.zone is not distinct from s.zone and o.currency_code = s.currency_code and o.billing_cost = s.billing_cost
    and o.lb is not distinct from rated_lb(s.billable_weight, s.billable_weight_unit)
order by s.currency_code, abs(s.billing_cost - o.median) desc, s.tracking_number, s.invoice_id, s.row_number
limit $limit
