-- title: What does shipping cost from each origin, and which origins are one place?
-- grain: origin postal code as it was written, currency
-- means: usual_origin is the spelling of the place: without blanks at the ends, in capital letters, and with the leading
--   zeros that a spreadsheet takes, where the code with them is an origin as well; rows with one usual_origin are one
--   place. average_zone is the mean of the zones where all lines of the origin are of one carrier and service whose zones
--   are a scale (numbers no more than 20 apart), else empty. Lines without an origin stand in a row of their own.
--   cost_per_shipment is billing_cost divided by packages, the distinct tracking numbers of a carrier; shipments counts lines.
-- cannot say: where shipments went; destinations are not in an invoice file.
-- units: billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb, share_of_shipments %,
--   credits money
-- detail: credits
-- chart: bar key=origin value=billing_cost
-- example: "2139" and "02139" are one place. Zones 5 and 8 have the mean 6.5.
--   lines: origin | carrier_zone | billing_cost
--   02139 | 5 | 8
--   02139 | 8 | 12
--   2139 | 5 | 9
--   rows: origin | usual_origin | shipments | billing_cost | average_zone
--   02139 | 02139 | 2 | 20.0000 | 6.50
--   2139 | 02139 | 1 | 9.0000 | 5.00
with origins as (
    select
        origin,
        currency_code,
        count(distinct invoice_id) as invoices,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        sum_lb(billable_weight, billable_weight_unit) as billable_weight_lb,
        per_lb(sum(billing_cost), billable_weight, billable_weight_unit) as cost_per_lb,
        case
            when min(carrier) = max(carrier) and min(service_level) = max(service_level) and count(service_level) = count(*)
                and is_scale(count(zone), count(zone_number(zone)), min(zone_number(zone)), max(zone_number(zone)))
                then mean_of(sum(zone_number(zone)), count(zone_number(zone)))
        end as average_zone,
        credits_of(billing_cost) as credits
    from selected_shipments
    group by origin, currency_code
)
select
    o.origin,
    o.currency_code,
    o.invoices,
    o.shipments,
    percent_of(o.shipments, sum(o.shipments) over (partition by o.currency_code)) as share_of_shipments,
    o.billing_cost,
    per(o.billing_cost, o.shipments - coalesce(r.repeats, 0)) as cost_per_shipment,
    o.billable_weight_lb,
    o.cost_per_lb,
    o.shipments - coalesce(r.repeats, 0) as packages,
    o.average_zone,
    o.credits,
    coalesce(f.origin, origin_of(o.origin)) as usual_origin
from origins as o
left join repeats_by(origin, null, null, null) as r
    on r.a is not distinct from o.origin and r.currency_code = o.currency_code
left join (select distinct origin from origins) as f
    on regexp_full_match(origin_of(o.origin), '[0-9]{3,4}') and f.origin = lpad(origin_of(o.origin), 5, '0')
order by o.currency_code, o.billing_cost desc, o.origin
