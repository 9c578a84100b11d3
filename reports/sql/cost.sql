-- title: Cost by month, tenant, carrier, service, zone, origin or weight
-- purpose: Spend, 2
-- grain: value of each column named in by, currency
-- params: $by month|week|tenant|carrier|service|zone|origin|weight+ = tenant+carrier: one or more of these, joined by +
-- means: billing_cost sums the lines of finalized invoices that are not voided, credits (lines below zero) included;
--   credits shows these apart. shipments counts lines, packages the distinct tracking numbers of a carrier.
--   cost_per_shipment is billing_cost divided by packages, cost_per_lb billing_cost divided by the pounds before they
--   are rounded. The columns are in the order month, week, tenant, carrier, service_level, zone, origin,
--   weight_break, whatever the order in by. share_of_cost and share_of_shipments are of all lines with the same first
--   column and currency; with only one in by, of all lines in that currency. month and week are those of the reported
--   date, zones are in one spelling, origins as they are written; usual_origin is the spelling of the place: without
--   blanks at the ends, with single spaces within, in capital letters, and three or four digits with zeros before
--   them, five digits in all, if an origin is written so too (a spreadsheet takes leading zeros away). A weight break
--   goes from above its first weight up to and including its second, by pounds before rounding: "0 lb", "0 to 1 lb",
--   then up to 2, 3, 5, 10, 20, 30, 50, 70 and 150, "over 150 lb" and "no weight". What a line does not state
--   (service, zone, origin, weight) has a row of its own. A package with lines in two rows counts in both.
--   credited_percent is credits, as a positive amount, in percent of what was charged (lines of zero and above).
-- order: currency; the columns from left to right (weights and zones that are numbers by size, then others by name,
--   then none)
-- cannot say: surcharges, dimensional weight, destination and margin; they are not in an invoice file. Zones of two
--   carriers or services are not the same measure, and an expensive zone may only be a heavy one ("what-if" compares like with
--   like).
-- units: billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb, share_of_cost %,
--   share_of_shipments %, credits money, credited_percent %
-- detail: credits, credited_percent
-- chart: heatmap key=carrier y=tenant value=billing_cost combine=sum
--   heatmap key=zone y=carrier value=cost_per_shipment
--   stack key=month series=carrier value=billing_cost combine=sum
--   stack key=month series=tenant value=billing_cost combine=sum
--   line key=month value=billing_cost combine=sum
--   line key=week value=billing_cost combine=sum
--   bar key=tenant value=billing_cost combine=sum
--   bar key=carrier value=billing_cost combine=sum
--   bar key=service_level value=billing_cost combine=sum
--   bar key=zone value=billing_cost combine=sum
--   bar key=origin value=billing_cost combine=sum
--   bar key=weight_break value=billing_cost combine=sum
-- shown: month month, week week, tenant tenant, carrier carrier, service_level service, zone zone, origin origin,
--   usual_origin origin, weight_break weight
-- drilldown: shipments by month, week, tenant, carrier, service_level, zone, origin, weight_break, currency_code; totals
-- example: Of 40 that Acme was billed, 30 are from UPS, 75 %: the packages A and B, of which A has two lines, 15 each.
--   lines: tenant | carrier | tracking_number | billing_cost
--   Acme | ups | A | 22
--   Acme | ups | A | -2
--   Acme | ups | B | 10
--   Acme | fedex | C | 10
--   Beta | ups | D | 7
--   rows: tenant | carrier | shipments | packages | billing_cost | cost_per_shipment | share_of_cost
--   Acme | fedex | 1 | 1 | 10.0000 | 10.0000 | 25.00
--   Acme | ups | 3 | 2 | 30.0000 | 15.0000 | 75.00
--   Beta | ups | 1 | 1 | 7.0000 | 7.0000 | 100.00
with
totals as (
    select
        of_month, of_week, of_tenant, of_carrier, of_service, of_zone, of_origin, of_weight,
        currency_code,
        count(distinct invoice_id) as invoices,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost,
        sum(credits) as credits,
        sum_lb(weight, unit) as billable_weight_lb,
        per_lb(sum(billing_cost), weight, unit) as cost_per_lb
    from billed_by($by)
    group by all
),
repeated as (
    select
        of_month, of_week, of_tenant, of_carrier, of_service, of_zone, of_origin, of_weight,
        currency_code,
        count(*) - count(distinct (carrier, tracking_number)) as repeats
    from lines_by($by, 'repeated_lines')
    group by all
),
places as (
    select distinct of_origin as origin from totals
),
-- The base of a share: the lines of the leftmost column when there are several.
shared as (
    select
        t.*,
        packages_of(t.shipments, r.repeats) as packages,
        case
            when not contains($by, '+') then null
            when asks_for($by, 'month') then month_of(t.of_month)
            when asks_for($by, 'week') then period_of(t.of_week, 'week')
            when asks_for($by, 'tenant') then t.of_tenant
            when asks_for($by, 'carrier') then t.of_carrier
            when asks_for($by, 'service') then t.of_service
            when asks_for($by, 'zone') then t.of_zone
            else t.of_origin
        end as first_column
    from totals as t
    left join repeated as r
        on t.currency_code = r.currency_code and t.of_month is not distinct from r.of_month
        and t.of_week is not distinct from r.of_week
        and t.of_tenant is not distinct from r.of_tenant
        and t.of_carrier is not distinct from r.of_carrier
        and t.of_service is not distinct from r.of_service
        and t.of_zone is not distinct from r.of_zone
        and t.of_origin is not distinct from r.of_origin
        and t.of_weight is not distinct from r.of_weight
)
select
    month_of(s.of_month) as month,
    period_of(s.of_week, 'week') as week,
    s.of_tenant as tenant,
    s.of_carrier as carrier,
    s.of_service as service_level,
    s.of_zone as zone,
    s.of_origin as origin,
    break_name(s.of_weight) as weight_break,
    s.currency_code,
    s.invoices,
    s.shipments,
    s.billing_cost,
    per(s.billing_cost, s.packages) as cost_per_shipment,
    s.billable_weight_lb,
    s.cost_per_lb,
    s.packages,
    percent_of(s.billing_cost, sum(s.billing_cost) over whole) as share_of_cost,
    percent_of(s.shipments, sum(s.shipments) over whole) as share_of_shipments,
    s.credits,
    coalesce(f.origin, nullif(origin_of(s.of_origin), '')) as usual_origin,
    credited_percent(s.billing_cost, s.credits) as credited_percent
from shared as s
left join places as f
    on regexp_full_match(origin_of(s.of_origin), '[0-9]{3,4}') and f.origin = lpad(origin_of(s.of_origin), 5, '0')
window whole as (partition by s.currency_code, s.first_column)
order by
    s.currency_code,
    s.of_month,
    s.of_week,
    s.of_tenant,
    s.of_carrier,
    s.of_service nulls last,
    zone_number(s.of_zone) nulls last,
    s.of_zone nulls last,
    s.of_origin nulls last,
    s.of_weight
