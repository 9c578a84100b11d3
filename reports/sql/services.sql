-- title: Which services are used, and what do they cost over ground?
-- grain: carrier, service level, currency
-- params: $ground text = ground: the word by which a service level is known to be ground, any case
-- means: ground_cost_per_shipment is the carrier's mean over its ground services. The like-for-like columns compare
--   only shipments whose zone and whole pound the carrier's ground also has: premium_like_for_like is their cost less
--   what as many at the ground mean of the same zone and pound cost. Lines of zero and credits are left out of both.
-- cannot say: whether ground would have been fast enough; promised dates are not in an invoice file.
-- units: share_of_shipments %, billing_cost money, cost_per_shipment money, ground_cost_per_shipment money,
--   premium_per_shipment money, premium_percent %, premium_like_for_like money
-- chart: bar key=carrier+service_level value=billing_cost
with services as (
    select
        carrier,
        service_level,
        currency_code,
        contains(lower(coalesce(service_level, '')), lower($ground)) as is_ground,
        count(*) as shipments,
        sum(billing_cost) as billing_cost
    from selected_shipments
    group by all
),
ground as (
    select carrier, currency_code, per(sum(billing_cost), sum(shipments)) as cost_per_shipment
    from services
    where is_ground
    group by all
),
cells as (
    select
        carrier,
        service_level,
        currency_code,
        zone,
        rated_lb(billable_weight, billable_weight_unit) as lb,
        contains(lower(coalesce(service_level, '')), lower($ground)) as is_ground,
        count(*) as shipments,
        sum(billing_cost) as billing_cost
    from selected_shipments
    where billing_cost > 0 and billable_weight is not null and zone is not null
    group by all
),
ground_cells as (
    select carrier, currency_code, zone, lb, per(sum(billing_cost), sum(shipments)) as mean
    from cells
    where is_ground
    group by all
),
compared as (
    select
        c.carrier,
        c.service_level,
        c.currency_code,
        sum(c.shipments) as shipments,
        sum(c.billing_cost - cast(c.shipments * g.mean as decimal(38, 4))) as premium
    from cells as c
    join ground_cells as g
        on g.carrier = c.carrier and g.currency_code = c.currency_code and g.zone = c.zone and g.lb = c.lb
    where not c.is_ground
    group by all
)
select
    s.carrier,
    s.service_level,
    s.currency_code,
    s.shipments,
    percent_of(s.shipments, sum(s.shipments) over (partition by s.carrier, s.currency_code)) as share_of_shipments,
    s.billing_cost,
    per(s.billing_cost, s.shipments) as cost_per_shipment,
    s.is_ground,
    g.cost_per_shipment as ground_cost_per_shipment,
    case when not s.is_ground then per(s.billing_cost, s.shipments) - g.cost_per_shipment end as premium_per_shipment,
    case
        when not s.is_ground
            then percent_of(per(s.billing_cost, s.shipments) - g.cost_per_shipment, g.cost_per_shipment)
    end as premium_percent,
    c.shipments as like_for_like_shipments,
    c.premium as premium_like_for_like
from services as s
left join ground as g on g.carrier = s.carrier and g.currency_code = s.currency_code
left join compared as c
    on c.carrier = s.carrier and c.currency_code = s.currency_code
    and c.service_level is not distinct from s.service_level
order by s.currency_code, s.carrier, s.billing_cost desc, s.service_level
