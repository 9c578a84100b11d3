-- title: What would one carrier's shipments cost at another's prices?
-- grain: carrier, other carrier, currency
-- params: $min_shipments integer = 3: the other carrier's price of a cell counts from so many shipments on
--   $same_service integer = 1: 1 compares only equal names of service (any case); 0 takes any service of the cell
-- means: each shipment is priced anew at the other carrier's median price (the mean of the two middle ones) for the same
--   zone and begun pound. Only what is covered is compared: coverage says how much that is, saving is negative when dearer.
-- cannot say: whether the other carrier would give that price for more volume, or be as fast; zones of two carriers
--   are not quite the same distance. Credits, lines of zero and lines without zone or weight are left out; with
--   same_service also those without a service: two lines without one have no equal names.
-- units: coverage_percent %, covered_cost money, repriced_cost money, saving money, saving_percent %
-- chart: bar key=carrier+other_carrier value=saving
-- example: Into zone 5 with 2 lb FedEx charged 8, 9 and 11 (median 9), UPS 10 and 10. Two of UPS's at 9 are 18, 2 less;
--   its parcel into zone 8 has no price at FedEx. UPS has only two prices, one less than the three it takes to count.
--   lines: carrier | carrier_zone | billing_cost
--   fedex | 5 | 8
--   fedex | 5 | 9
--   fedex | 5 | 11
--   ups | 5 | 10
--   ups | 5 | 10
--   ups | 8 | 30
--   rows: carrier | other_carrier | shipments | covered_shipments | covered_cost | repriced_cost | saving | saving_percent
--   fedex | ups | 3 | 0 | 0.0000 | 0.0000 | 0.0000 |
--   ups | fedex | 3 | 2 | 20.0000 | 18.0000 | 2.0000 | 10.00
with cells as (
    select
        carrier,
        service_level as service,
        zone,
        lb,
        currency_code,
        cast(sum(shipments) as bigint) as shipments,
        sum(cast(billing_cost * shipments as decimal(38, 4))) as billing_cost,
        median_at(billing_cost, up_to, n) as median
    from cell_prices(null, case when $same_service = 1 then lower(service_level) else '' end)
    group by all
),
carriers as (
    select carrier, currency_code, sum(shipments) as shipments from cells group by all
)
select
    a.carrier,
    b.carrier as other_carrier,
    a.currency_code,
    any_value(a.shipments) as shipments,
    coalesce(sum(x.shipments) filter (where y.median is not null), 0) as covered_shipments,
    percent_of(
        coalesce(sum(x.shipments) filter (where y.median is not null), 0), any_value(a.shipments)
    ) as coverage_percent,
    coalesce(sum(x.billing_cost) filter (where y.median is not null), 0) as covered_cost,
    coalesce(sum(cast(x.shipments * y.median as decimal(38, 4))), 0) as repriced_cost,
    coalesce(sum(x.billing_cost - cast(x.shipments * y.median as decimal(38, 4))), 0) as saving,
    percent_of(
        sum(x.billing_cost - cast(x.shipments * y.median as decimal(38, 4))),
        sum(x.billing_cost) filter (where y.median is not null)
    ) as saving_percent
from carriers as a
join carriers as b on b.currency_code = a.currency_code and b.carrier <> a.carrier
join cells as x on x.carrier = a.carrier and x.currency_code = a.currency_code
left join cells as y
    on y.carrier = b.carrier and y.currency_code = a.currency_code and y.service = x.service and y.zone = x.zone
    and y.lb = x.lb and y.shipments >= $min_shipments
group by a.carrier, b.carrier, a.currency_code
order by a.currency_code, a.carrier, b.carrier
