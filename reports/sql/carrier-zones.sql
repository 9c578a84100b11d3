-- title: What does each carrier charge for each zone?
-- grain: carrier, zone in one spelling, currency
-- means: cost_per_shipment is what a package (a distinct tracking number) of the carrier costs into a zone, credits included,
--   whatever it weighs; shipments counts lines. The mean weight of the lines that have one stands beside it, since a dear zone
--   may only be a heavy one.
-- cannot say: which carrier is cheaper for the same parcel; "what-if" compares like with like.
-- units: billing_cost money, cost_per_shipment money, weight_per_shipment_lb lb, share_of_shipments %,
--   credits money
-- detail: credits
-- chart: heatmap key=zone y=carrier value=cost_per_shipment
-- example: Into zone 5 UPS carried two for 30, 15 each, and FedEx one for 12.
--   lines: carrier | carrier_zone | billing_cost
--   ups | 5 | 10
--   ups | Zone 5 | 20
--   fedex | 05 | 12
--   rows: carrier | zone | shipments | share_of_shipments | cost_per_shipment
--   fedex | 5 | 1 | 100.00 | 12.0000
--   ups | 5 | 2 | 100.00 | 15.0000
with read as (
    select
        carrier,
        zone,
        currency_code,
        billable_weight_unit as unit,
        count(*) as shipments,
        count(billable_weight) as weighed,
        sum(billing_cost) as billing_cost,
        sum(billable_weight) as weight,
        credits_of(billing_cost) as credits
    from selected_shipments
    group by all
),
totals as (
    select
        carrier,
        zone,
        currency_code,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost,
        per(sum_lb(weight, unit), sum(weighed)) as weight_per_shipment_lb,
        sum(credits) as credits
    from read
    group by all
)
select
    t.carrier,
    t.zone,
    t.currency_code,
    t.shipments,
    percent_of(t.shipments, sum(t.shipments) over (partition by t.carrier, t.currency_code)) as share_of_shipments,
    t.billing_cost,
    per(t.billing_cost, t.shipments - coalesce(r.repeats, 0)) as cost_per_shipment,
    t.weight_per_shipment_lb,
    t.shipments - coalesce(r.repeats, 0) as packages,
    t.credits
from totals as t
left join repeats_by(carrier, zone, null, null) as r
    on r.a = t.carrier and r.b is not distinct from t.zone and r.currency_code = t.currency_code
order by t.currency_code, try_cast(t.zone as integer) nulls last, t.zone nulls last, t.carrier
