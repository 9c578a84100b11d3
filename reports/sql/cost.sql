-- title: Cost by month, tenant, carrier, service, zone, origin or weight
-- purpose: Spend, 2
-- grain: value of each column named in by, currency
-- source: fx with in
-- params: $by month|week|tenant|carrier|service|zone|origin|weight+ = tenant+carrier: one or more of these, joined by +
--   $in currency: the reporting currency; each amount is also converted into it, by the rates of `--fx FILE`
-- means: `billing_cost` includes credits (lines below zero). `shipments` counts lines, `packages` distinct tracking
--   numbers; a package with lines in two rows counts in both. Shares are of all lines with the same value of the
--   column that `by` names first and the same currency, or of the currency when `by` names one column. Zones are in one spelling; `usual_origin` is the origin in
--   its usual spelling, with lost zeros restored. A weight break includes its upper bound. Lines without a value have a
--   row of their own. `converted_cost` is `billing_cost` in the currency `in`: amounts are converted by month, with the
--   rate of the month before a rate without a month. It is empty where a line has no rate; `unconverted` counts these.
-- order: currency; the columns in the order of `by` (weights and zones that are numbers by size, then others by name,
--   then none)
-- limits: Surcharges, dimensional weight, destination and margin are not in an invoice file. Zones of two carriers or
--   services are not the same measure, and an expensive zone may only have heavy parcels (`what-if` compares like with
--   like).
-- units: converted_cost $in, billable_weight_lb lb, cost_per_lb money/lb, share_of_cost %, share_of_shipments %, credited_percent %
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
-- groups: month, week, tenant, carrier, service_level service, zone, origin, usual_origin origin, weight_break weight,
--   converted_cost in, unconverted in
-- drilldown: shipments by month, week, tenant, carrier, service_level, zone, origin, weight_break, currency_code; totals
-- example: Of 40 billed to Acme, 30 are from UPS, 75 %: the packages A and B, of which A has two lines, 15 each.
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
with totals as (
    select
        of_month, of_week, of_tenant, of_carrier, of_service, of_zone, of_origin, of_weight,
        currency_code,
        count(distinct invoice_id) as invoices,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost,
        sum(credits) as credits,
        sum_lb(weight, unit) as billable_weight_lb,
        per_lb(sum(billing_cost), weight, unit) as cost_per_lb,
        packages_of(cast(sum(shipments) as bigint), sum(repeats)) as packages,
        if(sum(unconverted) > 0, null, converted_amount(sum(converted_cost))) as converted_cost,
        cast(sum(unconverted) as bigint) as unconverted
    from (
        from billed_by($by)
        union all by name
        select
            of_month, of_week, of_tenant, of_carrier, of_service, of_zone, of_origin, of_weight,
            currency_code,
            count(*) - count(distinct (carrier, tracking_number)) as repeats
        from lines_by($by, 'repeated_lines')
        group by all
        union all by name
        from converted_by($by, $in)
    )
    group by all
),
places as (
    select distinct of_origin as origin from totals
),
-- These texts sort as the columns do, in the order in which `by` names them; the first is the base of a share.
shared as (
    select
        *,
        list_transform(
            string_split($by, '+'),
            lambda name: case name
                when 'month' then month_of(of_month)
                when 'week' then period_of(of_week, 'week')
                when 'tenant' then of_tenant
                when 'carrier' then of_carrier
                when 'service' then of_service
                when 'zone' then coalesce('0' || lpad(cast(zone_number(of_zone) as varchar), 14, '0'), '1' || of_zone)
                when 'origin' then of_origin
                else lpad(cast(of_weight as varchar), 4, '0')
            end
        ) as keys
    from totals
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
    s.converted_cost,
    s.unconverted,
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
-- The join is one equality: with a condition on s alone DuckDB compares every group with every place.
left join places as f
    on f.origin = if(regexp_full_match(origin_of(s.of_origin), '[0-9]{3,4}'), lpad(origin_of(s.of_origin), 5, '0'), null)
window whole as (partition by s.currency_code, if(len(s.keys) > 1, s.keys[1], null))
order by s.currency_code, s.keys, s.of_zone, s.of_week, s.of_month
