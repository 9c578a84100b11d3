-- title: Cost by carrier
-- purpose: Spend, 4
-- grain: carrier, currency
-- means: `billing_cost` includes credits (lines below zero). `shipments` counts lines, `packages` distinct tracking
--   numbers; `cost_per_shipment` is per package and `cost_per_lb` per billable pound. `concentration` is the
--   Herfindahl-Hirschman index of the carriers in that currency: 10,000 for one carrier, 5,000 for two of equal size,
--   empty where a carrier's cost is below zero. `credited_percent` is the credited part of the charges.
-- order: currency; highest billing_cost first; carrier
-- limits: Surcharges, dimensional weight, destination and margin are not in an invoice file, nor the reason for a
--   credit.
-- units: billable_weight_lb lb, cost_per_lb money/lb, share_of_cost %, credited_percent %
-- detail: credits, concentration
-- chart: bar key=carrier value=billing_cost
-- drilldown: shipments by carrier, currency_code; totals
-- example: UPS carried A for 8 and B for 12, and credited 2: 18 for two packages, 9 each. The lines weigh 1 lb and
--   twice 1 kg, 5.4092452436 lb; 18 by that is 3.3276. With 6 of FedEx the shares are 75 and 25 %, so the concentration
--   is 75 x 75 + 25 x 25 = 6250. Of 20 charged 2 were credited, 10 %.
--   lines: carrier | tracking_number | billable_weight | billable_weight_unit | billing_cost
--   ups | A | 1 | LB | 8
--   ups | B | 1 | KG | 12
--   ups | B | 1 | KG | -2
--   fedex | C | 1 | LB | 6
--   rows: carrier | shipments | packages | billing_cost | cost_per_shipment | cost_per_lb | credits | share_of_cost | concentration | credited_percent
--   ups | 3 | 2 | 18.0000 | 9.0000 | 3.3276 | -2.0000 | 75.00 | 6250 | 10.00
--   fedex | 1 | 1 | 6.0000 | 6.0000 | 6.0000 | 0.0000 | 25.00 | 6250 | 0.00
with
-- Sums above 5 x 10^13 are squared in a larger unit, since a square has to fit 128 bits a hundred times.
totals as (
    select
        *,
        sum(billing_cost) over currency as total,
        min(billing_cost) over currency >= 0 and total > 0 as has_shares,
        abs(ten_thousandths(total)) // 500000000000000000 + 1 as unit,
        if(has_shares, ten_thousandths(billing_cost) // unit, 0) as size
    from totals_by('invoiced_months', carrier, null)
    window currency as (partition by currency_code)
),
shared as (
    select
        *,
        percent_of(billing_cost, total) as share_of_cost,
        sum(size * size) over currency as squares,
        sum(size) over currency * sum(size) over currency as square
    from totals
    window currency as (partition by currency_code)
)
select
    a as carrier,
    currency_code,
    invoices,
    shipments,
    billing_cost,
    cost_per_shipment,
    billable_weight_lb,
    cost_per_lb,
    packages,
    credits,
    share_of_cost,
    -- The quotient is computed in two steps, because the product can exceed 128 bits.
    case
        when has_shares
            then cast(100 * squares // square * 100 + rounded_quotient(100 * (100 * squares % square), square) as bigint)
    end as concentration,
    credited_percent(billing_cost, credits) as credited_percent
from shared
order by currency_code, billing_cost desc, carrier
