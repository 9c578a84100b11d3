-- title: Cost by carrier
-- purpose: Spend, 4
-- grain: carrier, currency
-- means: billing_cost sums the lines of finalized invoices that are not voided, credits (lines below zero) included;
--   credits shows these apart. shipments counts lines, packages the distinct tracking numbers of a carrier.
--   cost_per_shipment is billing_cost divided by packages, cost_per_lb billing_cost divided by the pounds before they
--   are rounded; both are rounded once, half away from zero, to four decimals. Kilograms are summed, then multiplied
--   by 2.2046226218. Carriers are as the files write them. share_of_cost is of all carriers in that currency.
--   concentration, the same in each row of a currency, is the sum of the squares of these shares before rounding, rounded to a whole number (the
--   Herfindahl-Hirschman index): 10,000 is one carrier, 5,000 two of a size, 2,500 four; it is empty where a carrier's cost
--   is below zero. credited_percent is what was credited in percent of what was charged (lines of zero and above).
-- order: currency; highest billing_cost first; carrier
-- cannot say: surcharges, dimensional weight, destination and margin: they are not in an invoice file; nor whether a credit is
--   a return, a refund or a correction.
-- units: billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb, credits money,
--   share_of_cost %, credited_percent %
-- detail: credits
-- chart: bar key=carrier value=billing_cost
-- drilldown: shipments by carrier, currency_code; totals
-- example: UPS carried the packages A for 8 and B for 12, of which it credited 2: 18 for three lines and two packages, 9 each. The
--   lines weigh 1 lb and twice 1 kg, 5.4092 lb (2 x 2.2046226218 is 4.4092452436); 18 by 5.4092452436 is 3.3276. With FedEx's 6 that is
--   75 of 100 %, so the concentration is 75 x 75 + 25 x 25 = 6250. Of 20 charged 2 were credited, 10 %.
--   lines: carrier | tracking_number | billable_weight | billable_weight_unit | billing_cost
--   ups | A | 1 | LB | 8
--   ups | B | 1 | KG | 12
--   ups | B | 1 | KG | -2
--   fedex | C | 1 | LB | 6
--   rows: carrier | shipments | packages | billing_cost | cost_per_shipment | cost_per_lb | credits | share_of_cost | concentration | credited_percent
--   ups | 3 | 2 | 18.0000 | 9.0000 | 3.3276 | -2.0000 | 75.00 | 6250 | 10.00
--   fedex | 1 | 1 | 6.0000 | 6.0000 | 6.0000 | 0.0000 | 25.00 | 6250 | 0.00
with totals as (
    select
        carrier,
        currency_code,
        count(distinct invoice_id) as invoices,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost,
        sum_lb(weight, unit) as billable_weight_lb,
        per_lb(sum(billing_cost), weight, unit) as cost_per_lb,
        sum(credits) as credits
    from invoiced_months
    group by all
),
shared as (
    select
        *,
        percent_of(billing_cost, sum(billing_cost) over currency) as share_of_cost,
        sum(ten_thousandths(billing_cost) * ten_thousandths(billing_cost)) over currency as squares,
        ten_thousandths(sum(billing_cost) over currency) * ten_thousandths(sum(billing_cost) over currency) as square,
        min(billing_cost) over currency >= 0 and sum(billing_cost) over currency > 0 as has_shares
    from totals
    window currency as (partition by currency_code)
)
select
    t.carrier,
    t.currency_code,
    t.invoices,
    t.shipments,
    t.billing_cost,
    per(t.billing_cost, packages_of(t.shipments, r.repeats)) as cost_per_shipment,
    t.billable_weight_lb,
    t.cost_per_lb,
    packages_of(t.shipments, r.repeats) as packages,
    t.credits,
    t.share_of_cost,
    -- Unrounded shares: 10,000 times the squares of the costs by the square of their sum. Two digits are divided first and
    -- two then, since ten thousand times the squares of ten million million are beyond 128 bits.
    case
        when t.has_shares
            then cast(100 * t.squares // t.square * 100 + rounded_quotient(100 * (100 * t.squares % t.square), t.square) as bigint)
    end as concentration,
    credited_percent(t.billing_cost, t.credits) as credited_percent
from shared as t
left join repeats_by(carrier, null, null, null) as r
    on r.a = t.carrier and r.currency_code = t.currency_code
order by t.currency_code, t.billing_cost desc, t.carrier
