-- title: What does each carrier charge for each zone?
-- grain: carrier, zone in one spelling, currency
-- means: the mean cost of all shipments of a carrier into a zone, credits included, whatever they weigh; mean weights
--   stand beside it, since a dear zone may only be a heavy one.
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
)
select
    carrier,
    zone,
    currency_code,
    cast(sum(shipments) as bigint) as shipments,
    percent_of(sum(shipments), sum(sum(shipments)) over (partition by carrier, currency_code)) as share_of_shipments,
    sum(billing_cost) as billing_cost,
    per(sum(billing_cost), sum(shipments)) as cost_per_shipment,
    per(sum_lb(weight, unit), sum(weighed)) as weight_per_shipment_lb,
    sum(credits) as credits
from read
group by carrier, zone, currency_code
order by currency_code, try_cast(zone as integer) nulls last, zone nulls last, carrier
