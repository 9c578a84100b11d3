-- title: Cost at other prices
-- purpose: Spend, 10
-- grain: carrier (or carrier and service level, or carrier and zone), the other one, currency
-- source: weights
-- params: $by carrier|service|zone = carrier: what is exchanged: the carrier, or the service or zone within a carrier
--   $min_shipments integer = 3: a price counts only if it has at least this many lines
--   $same_service integer = 1: 1 compares services of the same name; 0 compares any two; no effect with `by=service`
-- means: Each charge priced again at the median price of another carrier or, with `by`, of another service or zone of
--   the same carrier, for the same zone, service and rated weight otherwise. The weight is rated as the other carrier
--   rates it (whole pounds, or `--weights FILE`). `covered_shipments` counts the charges with such a price,
--   `coverage_percent` is their share of all charges, also of those without weight, zone or service; `saving` is
--   `covered_cost` less `repriced_cost`, below zero when the other is more expensive. The filters limit both sides.
-- order: currency; carrier; other_carrier, or service_level and other_service, or zone and other_zone
-- limits: Whether another carrier grants that price for more volume or is as fast is not known, nor what it costs to
--   ship from nearer. Zones of two carriers or services are not quite the same distance.
-- units: coverage_percent %, saving_percent %
-- chart: bar key=carrier+other_carrier value=saving
--   bar key=carrier+service_level+other_service value=saving
--   heatmap key=other_zone y=carrier+zone value=saving_per_shipment
-- groups: other_carrier carrier, service_level service, other_service service, zone, other_zone zone
-- drilldown: shipments by carrier, service_level, zone, currency_code
-- example: Into zone 5 with 2 lb FedEx charged 8, 9 and 11 (median 9), UPS 10 and 10. Two of UPS at 9 are 18, 2 less;
--   its parcel into zone 8 has no price at FedEx. UPS has two prices, and three are needed.
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
        currency_code,
        if($by = 'service', service_level, '') as of_service,
        if($by = 'zone', zone, '') as of_zone,
        if($by = 'service', '', service_level) as service,
        if($by = 'zone', '', zone) as zone,
        rated,
        cast(sum(shipments) as bigint) as shipments,
        sum(cast(billing_cost * shipments as decimal(38, 4))) as billing_cost,
        twice_median_at(billing_cost, up_to, n) as twice_median
    from cell_prices(
        null,
        case
            when $by = 'service' then service_level
            when $same_service = 1 then lower(service_level)
            when service_level is not null then ''
        end,
        'selected_shipments'
    )
    group by all
),
-- A side has all charges, also those without a weight, zone or service, which no price covers.
sides as (
    select
        carrier,
        if($by = 'service', service_level, '') as of_service,
        if($by = 'zone', zone, '') as of_zone,
        currency_code,
        count(*) as shipments
    from selected_shipments
    where billing_cost > 0 and ($by <> 'service' or service_level is not null) and ($by <> 'zone' or zone is not null)
    group by all
),
pairs as (
    select a.*, b.carrier as other_carrier, b.of_service as other_service, b.of_zone as other_zone
    from sides as a
    join sides as b
        on b.currency_code = a.currency_code and (b.carrier <> a.carrier) = ($by = 'carrier')
        and (b.carrier, b.of_service, b.of_zone) <> (a.carrier, a.of_service, a.of_zone)
),
-- The lines of a side by the weight at which the other side rates them.
placed as (
    select p.* exclude (shipments), c.service, c.zone, c.rated, c.shipments, c.billing_cost
    from cells as c
    join pairs as p
        on p.carrier = c.carrier and p.of_service = c.of_service and p.of_zone = c.of_zone
        and p.currency_code = c.currency_code
    where $by <> 'carrier' or not exists (select 1 from rated_weights)
    union all by name
    select
        p.* exclude (shipments),
        case when $same_service = 1 then lower(s.service_level) else '' end as service,
        s.zone,
        w.rated,
        count(*) as shipments,
        sum(s.billing_cost) as billing_cost
    from selected_shipments as s
    join pairs as p on p.carrier = s.carrier and p.currency_code = s.currency_code
    join rated_weights as w
        on w.carrier = p.other_carrier and w.billable_weight = s.billable_weight
        and w.billable_weight_unit = s.billable_weight_unit
    where $by = 'carrier' and s.billing_cost > 0 and s.zone is not null and s.service_level is not null
    group by all
),
covered as (
    select
        x.carrier,
        x.of_service,
        x.of_zone,
        x.other_carrier,
        x.other_service,
        x.other_zone,
        x.currency_code,
        cast(sum(x.shipments) as bigint) as shipments,
        sum(x.billing_cost) as billing_cost,
        sum(x.shipments * y.twice_median) as twice_repriced
    from placed as x
    join cells as y
        on y.carrier = x.other_carrier and y.of_service = x.other_service and y.of_zone = x.other_zone
        and y.currency_code = x.currency_code and y.service = x.service and y.zone = x.zone and y.rated = x.rated
        and y.shipments >= $min_shipments
    group by all
)
select
    p.carrier,
    p.other_carrier,
    p.of_service as service_level,
    p.other_service,
    p.of_zone as zone,
    p.other_zone,
    p.currency_code,
    p.shipments,
    coalesce(c.shipments, 0) as covered_shipments,
    percent_of(coalesce(c.shipments, 0), p.shipments) as coverage_percent,
    coalesce(c.billing_cost, 0) as covered_cost,
    coalesce(half_amount(c.twice_repriced), 0) as repriced_cost,
    coalesce(half_amount(c.twice_saved), 0) as saving,
    percent_of_twice(c.twice_saved, 2 * ten_thousandths(c.billing_cost)) as saving_percent,
    as_amount(rounded_quotient(c.twice_saved, 2 * c.shipments)) as saving_per_shipment
from pairs as p
left join (select *, 2 * ten_thousandths(billing_cost) - twice_repriced as twice_saved from covered) as c using (carrier, of_service, of_zone, other_carrier, other_service, other_zone, currency_code)
order by
    p.currency_code,
    p.carrier,
    p.other_carrier,
    p.of_service,
    p.other_service,
    zone_number(p.of_zone) nulls last,
    p.of_zone,
    zone_number(p.other_zone) nulls last,
    p.other_zone
