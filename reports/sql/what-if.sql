-- title: What would one carrier's shipments cost at another's prices?
-- purpose: Spend, 10
-- grain: carrier, other carrier, currency
-- source: weights
-- params: $min_shipments integer = 3: a price of the other carrier counts only if it has at least this many lines
--   $same_service integer = 1: 1 compares services of the same name (in upper or lower case); 0 compares any service with any
-- means: each line above zero with a zone and a weight (and, with same_service, a service) is priced again at the
--   other carrier's median price for the same zone and for the rated weight: the billed weight as the other carrier
--   rates it, rounded up to a whole pound or to that carrier's own step (--weights FILE). A median is the mean of the
--   two middle prices, rounded to four decimals before it is multiplied. shipments counts these lines,
--   covered_shipments those for which the other carrier has such a price; covered_cost is what they cost,
--   repriced_cost what they would cost, saving the first less the second (below zero: more expensive) and saving_percent the
--   saving in percent of covered_cost.
-- order: currency; carrier; other_carrier
-- cannot say: whether the other carrier would give that price for more volume, or be as fast; nor distance: zones of
--   two carriers are not quite the same.
-- units: coverage_percent %, covered_cost money, repriced_cost money, saving money, saving_percent %
-- chart: bar key=carrier+other_carrier value=saving
-- leads: shipments by carrier, currency_code
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
        rated,
        currency_code,
        cast(sum(shipments) as bigint) as shipments,
        sum(cast(billing_cost * shipments as decimal(38, 4))) as billing_cost,
        median_at(billing_cost, up_to, n) as median
    from cell_prices(null, case when $same_service = 1 then lower(service_level) else '' end)
    group by all
),
carriers as (
    select carrier, currency_code, cast(sum(shipments) as bigint) as shipments from cells group by all
),
pairs as (
    select a.*, b.carrier as other_carrier
    from carriers as a
    join carriers as b on b.currency_code = a.currency_code and b.carrier <> a.carrier
),
-- A carrier's lines by the weight at which the other one rates them. Where all rate alike, that is their own cell.
placed as (
    select c.carrier, p.other_carrier, c.service, c.zone, c.rated, c.currency_code, c.shipments, c.billing_cost
    from cells as c
    join pairs as p on p.carrier = c.carrier and p.currency_code = c.currency_code
    where not exists (select 1 from rated_weights)
    union all
    select
        s.carrier,
        p.other_carrier,
        case when $same_service = 1 then lower(s.service_level) else '' end as service,
        s.zone,
        w.rated,
        s.currency_code,
        count(*) as shipments,
        sum(s.billing_cost) as billing_cost
    from selected_shipments as s
    join pairs as p on p.carrier = s.carrier and p.currency_code = s.currency_code
    join rated_weights as w
        on w.carrier = p.other_carrier and w.billable_weight = s.billable_weight
        and w.billable_weight_unit = s.billable_weight_unit
    where s.billing_cost > 0 and s.zone is not null and ($same_service <> 1 or s.service_level is not null)
    group by all
),
covered as (
    select
        x.carrier,
        x.other_carrier,
        x.currency_code,
        cast(sum(x.shipments) as bigint) as shipments,
        sum(x.billing_cost) as billing_cost,
        sum(cast(x.shipments * y.median as decimal(38, 4))) as repriced_cost
    from placed as x
    join cells as y
        on y.carrier = x.other_carrier and y.currency_code = x.currency_code and y.service = x.service and y.zone = x.zone
        and y.rated = x.rated and y.shipments >= $min_shipments
    group by all
)
select
    p.carrier,
    p.other_carrier,
    p.currency_code,
    p.shipments,
    coalesce(c.shipments, 0) as covered_shipments,
    percent_of(coalesce(c.shipments, 0), p.shipments) as coverage_percent,
    coalesce(c.billing_cost, 0) as covered_cost,
    coalesce(c.repriced_cost, 0) as repriced_cost,
    coalesce(c.billing_cost - c.repriced_cost, 0) as saving,
    percent_of(c.billing_cost - c.repriced_cost, c.billing_cost) as saving_percent
from pairs as p
left join covered as c
    on c.carrier = p.carrier and c.other_carrier = p.other_carrier and c.currency_code = p.currency_code
order by p.currency_code, p.carrier, p.other_carrier
