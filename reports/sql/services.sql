-- title: Cost by service compared with ground
-- purpose: Spend, 6
-- grain: carrier, service level, currency
-- source: weights
-- params: $ground text = ground: a service level with this word is ground; a whole word, in upper or lower case
-- means: The cost of each service beside that of all ground services of the carrier together. `premium_per_shipment` is
--   the difference of the mean costs of a package. `premium_like_for_like` compares only charges whose zone and rated
--   weight ground has too: their cost less as many at ground's mean for the same zone and weight. Credits count in the
--   other columns; `credited_percent` is the credited part of the charges.
-- order: currency; carrier; highest billing_cost first; service_level
-- limits: Whether ground would have been fast enough is not known; promised dates and the reason for a credit are not
--   in an invoice file.
-- units: share_of_shipments %, premium_percent %, credited_percent %, credit_lines_percent %
-- detail: credits, credit_lines
-- chart: bar key=carrier+service_level value=billing_cost
-- drilldown: shipments by carrier, service_level, currency_code; shipments, billing_cost, packages, cost_per_shipment
--   shipments by carrier, service_level, currency_code, lines=credits; credit_lines=shipments, credits=billing_cost
-- example: Ground costs 8 in zone 5 and 12 in zone 8, a mean of 10. A 2-day parcel costs 20 into zone 5 and 16 into
--   zone 2, a mean of 18: 8 or 80 % more. Like for like only zone 5 can be compared, 20 less 8.
--   lines: service_level | carrier_zone | billing_cost
--   UPS Ground | 5 | 8
--   UPS Ground | 8 | 12
--   2Day | 5 | 20
--   2Day | 2 | 16
--   rows: service_level | is_ground | premium_per_shipment | premium_percent | like_for_like_shipments | premium_like_for_like
--   2Day | false | 8.0000 | 80.00 | 1 | 12.0000
--   UPS Ground | true | | | |
with read as (
    select
        carrier,
        service_level,
        currency_code,
        zone,
        rated,
        billing_cost > 0 as is_charge,
        count(*) as shipments,
        count(*) filter (where billing_cost < 0) as credit_lines,
        sum(billing_cost) as billing_cost
    from selected_shipments
    group by all
),
names as (
    select service_level, has_word(service_level, $ground) as is_ground from (select distinct service_level from read)
),
services as (
    select
        r.carrier,
        r.service_level,
        r.currency_code,
        n.is_ground,
        cast(sum(r.shipments) as bigint) as shipments,
        sum(r.billing_cost) as billing_cost,
        coalesce(sum(r.billing_cost) filter (where not r.is_charge), 0) as credits,
        cast(sum(r.credit_lines) as bigint) as credit_lines
    from read as r
    join names as n on n.service_level is not distinct from r.service_level
    group by all
),
-- A package with lines of several ground services is one package of ground.
ground_repeats as (
    select carrier, currency_code, count(*) - count(distinct tracking_number) as repeats
    from repeated_lines
    where service_level in (select service_level from names where is_ground)
    group by all
),
ground as (
    select
        s.carrier,
        s.currency_code,
        sum(s.billing_cost) as billing_cost,
        packages_of(sum(s.shipments), any_value(r.repeats)) as packages
    from services as s
    left join ground_repeats as r on r.carrier = s.carrier and r.currency_code = s.currency_code
    where s.is_ground
    group by s.carrier, s.currency_code
),
cells as (
    select r.carrier, r.service_level, r.currency_code, r.zone, r.rated, n.is_ground, r.shipments, r.billing_cost
    from read as r
    join names as n on n.service_level = r.service_level
    where r.is_charge and r.rated is not null and r.zone is not null
),
ground_cells as (
    select carrier, currency_code, zone, rated, sum(billing_cost) as billing_cost, sum(shipments) as shipments
    from cells
    where is_ground
    group by all
),
alike as (
    select
        c.carrier,
        c.service_level,
        c.currency_code,
        c.shipments,
        c.billing_cost,
        c.shipments * ten_thousandths(g.billing_cost) as of_ground,
        g.shipments as ground_shipments
    from cells as c
    join ground_cells as g
        on g.carrier = c.carrier and g.currency_code = c.currency_code and g.zone = c.zone and g.rated = c.rated
    where not c.is_ground
),
compared as (
    select
        carrier,
        service_level,
        currency_code,
        sum(shipments) as shipments,
        -- The amount stays in 10^-12 until all parts are added.
        as_amount(rounded_quotient(
            sum(ten_thousandths(billing_cost) * 100000000 - hundred_millionths(of_ground, ground_shipments)), 100000000
        )) as premium
    from alike
    group by all
),
-- The premium is multiplied by the number of ground packages, so that it is a whole number and premiums are rounded once.
over_ground as (
    select
        s.*,
        packages_of(s.shipments, r.repeats) as packages,
        g.billing_cost as ground_cost,
        g.packages as ground_packages,
        ten_thousandths(s.billing_cost) * g.packages
            - ten_thousandths(g.billing_cost) * packages_of(s.shipments, r.repeats) as excess
    from services as s
    left join repeats_by(carrier, service_level, null, null) as r
        on r.a = s.carrier and r.b is not distinct from s.service_level and r.currency_code = s.currency_code
    left join ground as g on g.carrier = s.carrier and g.currency_code = s.currency_code
)
select
    s.carrier,
    s.service_level,
    s.currency_code,
    s.shipments,
    percent_of(s.shipments, sum(s.shipments) over (partition by s.carrier, s.currency_code)) as share_of_shipments,
    s.billing_cost,
    per(s.billing_cost, s.packages) as cost_per_shipment,
    s.is_ground,
    per(s.ground_cost, s.ground_packages) as ground_cost_per_shipment,
    case
        when not s.is_ground then as_amount(rounded_quotient(s.excess, s.packages * s.ground_packages))
    end as premium_per_shipment,
    case
        when not s.is_ground and s.ground_cost > 0
            then as_hundredths(rounded_quotient(s.excess * 10000, ten_thousandths(s.ground_cost) * s.packages))
    end as premium_percent,
    s.packages,
    c.shipments as like_for_like_shipments,
    c.premium as premium_like_for_like,
    s.credits,
    s.credit_lines,
    credited_percent(s.billing_cost, s.credits) as credited_percent,
    percent_of(s.credit_lines, s.shipments) as credit_lines_percent
from over_ground as s
left join compared as c
    on c.carrier = s.carrier and c.currency_code = s.currency_code
    and c.service_level is not distinct from s.service_level
order by s.currency_code, s.carrier, s.billing_cost desc, s.service_level
