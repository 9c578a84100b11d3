-- title: Which shipments cost far more or less than their like?
-- grain: shipment
-- params: $threshold decimal = 3.5: how many robust deviations away
--   $min_shipments integer = 8: a cell needs so many to judge by
--   $limit integer = 500: at most so many, the most money first
-- means: a shipment is compared with those of its carrier, service, zone, begun pound and currency. robust_z is the
--   distance from their median in units of 1.4826 times the median distance (Iglewicz and Hoaglin); where more than
--   half cost exactly the same it is in units of 1.2533 times the mean distance. difference is what it cost over the median.
-- cannot say: that it is wrong. A surcharge, a correction and a mistake look the same. Credits are left out.
-- units: billing_cost money, median money, difference money
-- detail: invoice_id, row_number
with cells as (
    select
        *,
        rated_lb(billable_weight, billable_weight_unit) as lb,
        count(*) over cell as n,
        quantile_disc(billing_cost, 0.5) over cell as median
    from selected_shipments
    where billing_cost > 0
    window cell as (partition by carrier, service_level, zone, rated_lb(billable_weight, billable_weight_unit), currency_code)
),
spread as (
    select
        *,
        quantile_disc(abs(billing_cost - median), 0.5) over cell as mad,
        sum(abs(billing_cost - median)) over cell as total_distance
    from cells
    where n >= $min_shipments
    window cell as (partition by carrier, service_level, zone, lb, currency_code)
),
scored as (
    select
        *,
        cast(
            case
                when mad > 0
                    then rounded_quotient(ten_thousandths(billing_cost - median) * 6745, ten_thousandths(mad) * 100)
                else rounded_quotient(
                    ten_thousandths(billing_cost - median) * n * 100000000, ten_thousandths(total_distance) * 1253314
                )
            end as decimal(36, 0)
        )
        * cast(0.01 as decimal(2, 2)) as robust_z
    from spread
)
select
    tenant,
    invoice_number,
    ship_date,
    carrier,
    service_level,
    zone,
    lb,
    currency_code,
    tracking_number,
    billing_cost,
    median,
    billing_cost - median as difference,
    robust_z,
    n as like_shipments,
    invoice_id,
    row_number
from scored
where abs(robust_z) >= $threshold
order by currency_code, abs(billing_cost - median) desc, tracking_number, invoice_id, row_number
limit $limit
