-- title: How does the mix of zones shift from month to month?
-- grain: month, carrier, zone in one spelling, currency
-- means: share_of_shipments is of the carrier's shipments in that month and currency; shift is its change, in points,
--   against the month before. average_zone is the mean of the zones that are numbers, over the carrier's whole month.
-- cannot say: distance. Zones of two carriers or services are not the same measure.
-- units: billing_cost money, cost_per_shipment money, share_of_shipments %, shift points, credits money
-- detail: credits
-- chart: line key=month value=average_zone series=carrier
with mix as (
    select
        month_start(report_date) as start,
        carrier,
        zone,
        currency_code,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        credits_of(billing_cost) as credits,
        sum(zone_number(zone)) as zone_sum,
        count(zone_number(zone)) as zone_count
    from selected_shipments
    group by all
),
shared as (
    select
        *,
        percent_of(shipments, sum(shipments) over w) as share,
        mean_of(sum(zone_sum) over w, sum(zone_count) over w) as average_zone
    from mix
    window w as (partition by start, carrier, currency_code)
)
select
    month_of(s.start) as month,
    s.carrier,
    s.zone,
    s.currency_code,
    s.shipments,
    s.share as share_of_shipments,
    case when c.start is not null then s.share - coalesce(p.share, 0) end as shift,
    s.billing_cost,
    per(s.billing_cost, s.shipments) as cost_per_shipment,
    s.average_zone,
    s.credits
from shared as s
left join shared as p
    on p.carrier = s.carrier and p.currency_code = s.currency_code and p.zone is not distinct from s.zone
    and p.start = s.start - interval 1 month
left join (select distinct start, carrier, currency_code from mix) as c
    on c.carrier = s.carrier and c.currency_code = s.currency_code and c.start = s.start - interval 1 month
order by s.currency_code, s.start, s.carrier, try_cast(s.zone as integer) nulls last, s.zone
