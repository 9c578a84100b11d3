-- title: Possible dimensional weight charges
-- purpose: Audit, 9
-- grain: shipment
-- params: $times decimal = 2: a line is listed if it was billed at least so many times the usual weight
--   $min_lb integer = 3: and at least so many pounds more
--   $min_shipments integer = 20: how many lines there must be to know what is usual
--   $limit integer = 100000: list at most this many rows of each partner, the first in the report's order
-- means: carriers bill a light parcel by its size where that makes a greater weight, and the file has the billed
--   weight alone. So a line's billed_lb, its weight rounded up to a whole pound, is held against all lines that the
--   tenant ships with the same carrier and service from the same origin, whatever the filters, which choose the
--   lines that are listed (shown without blanks at its ends, with
--   single spaces within, in capital letters): usual_lb is the least weight that at least nine of ten of them do not
--   exceed, like_shipments how many they are, the line itself included. usual_cost is the median (the mean of the two
--   middle ones, rounded to four decimals) that lines above zero of the same carrier, service, zone, month of the
--   reported date and currency cost at usual_lb, of all tenants and origins and
--   without the filters; difference is billing_cost less
--   usual_cost. Both are empty where nothing was billed so. Only lines above zero with a service, an origin and a
--   weight above zero are held against one another, in all months, zones and
--   currencies.
-- order: currency; greatest difference first (none last); greatest billed_lb less usual_lb first; tracking_number
-- cannot say: whether the parcel is heavy, large or wrongly measured: sizes and real weights are not in an invoice file, so ask
--   for them. Where more than a tenth of a tenant's lines are billed so, that is usual here; "mix" by weight shows whether weights
--   shift.
-- units: billing_cost money, usual_cost money, difference money, billed_lb lb, usual_lb lb
-- detail: invoice_id, row_number
-- drilldown: shipments by invoice_id, row_number; billing_cost
-- example: Of ten parcels nine weigh up to 4 lb, so 4 lb is usual; the tenth was billed as 24 lb, six times as much. Parcels of 4 lb cost
--   10 and 12, so 11 is the usual cost and 29 are in question.
--   lines: tracking_number | billable_weight | billing_cost
--   A | 2 | 8
--   B | 2 | 8
--   C | 2 | 8
--   D | 3 | 9
--   E | 3 | 9
--   F | 3 | 9
--   G | 3 | 9
--   H | 3.5 | 10
--   I | 4 | 12
--   J | 24 | 40
--   with: min_shipments=10
--   rows: tracking_number | billed_lb | usual_lb | like_shipments | billing_cost | usual_cost | difference
--   J | 24 | 4 | 10 | 40.0000 | 11.0000 | 29.0000
with
weighed as (
    select
        tenant,
        carrier,
        service_level,
        origin_of(origin) as place,
        rated_lb(billable_weight, billable_weight_unit) as lb,
        count(*) as shipments,
        count(*) filter (where is_examined) as examined
    from loaded_shipments
    where billing_cost > 0 and service_level is not null and origin is not null and billable_weight > 0
    group by all
),
ranked as (
    select *, sum(shipments) over place as n, sum(shipments) over (place order by lb) as up_to
    from weighed
    window place as (partition by tenant, carrier, service_level, place)
),
-- Few, and read twice below.
usual as materialized (
    select
        tenant,
        carrier,
        service_level,
        place,
        cast(any_value(n) as bigint) as n,
        min(lb) filter (where up_to * 10 >= n * 9) as usual_lb
    from ranked
    where n >= $min_shipments and place <> ''
    group by all
    having max(lb) filter (where examined > 0) >= min(lb) filter (where up_to * 10 >= n * 9) * $times
    and max(lb) filter (where examined > 0) - min(lb) filter (where up_to * 10 >= n * 9) >= $min_lb
),
-- As one list and out of it again, so that DuckDB takes them for few (as in "outliers").
wanted as (
    select unnest(places, max_depth := 2) from (select list(u) as places from usual as u)
),
heavy as (
    select s.*, w.place, w.n, w.usual_lb, rated_lb(s.billable_weight, s.billable_weight_unit) as lb
    from selected_shipments as s
    join wanted as w
        on w.tenant = s.tenant and w.carrier = s.carrier and w.service_level = s.service_level
        and w.place = origin_of(s.origin)
    where s.billing_cost > 0 and rated_lb(s.billable_weight, s.billable_weight_unit) >= w.usual_lb * $times
    and rated_lb(s.billable_weight, s.billable_weight_unit) - w.usual_lb >= $min_lb
),
prices as (
    select
        s.carrier,
        s.service_level,
        s.zone,
        s.currency_code,
        month_start(s.report_date) as start,
        rated_lb(s.billable_weight, s.billable_weight_unit) as lb,
        median_of(s.billing_cost) as usual_cost
    from loaded_shipments as s
    semi join wanted as w
        on w.carrier = s.carrier and w.service_level = s.service_level
        and w.usual_lb = rated_lb(s.billable_weight, s.billable_weight_unit)
    where s.billing_cost > 0 and s.zone is not null
    group by all
)
select
    h.tenant,
    h.invoice_number,
    h.ship_date,
    h.carrier,
    h.service_level,
    h.zone,
    h.place as origin,
    h.currency_code,
    h.tracking_number,
    h.lb as billed_lb,
    h.usual_lb,
    h.billing_cost,
    p.usual_cost,
    h.billing_cost - p.usual_cost as difference,
    h.n as like_shipments,
    h.invoice_id,
    h.row_number
from heavy as h
left join prices as p
    on p.carrier = h.carrier and p.service_level = h.service_level and p.zone = h.zone and p.currency_code = h.currency_code
    and p.lb = h.usual_lb and p.start = month_start(h.report_date)
order by
    h.currency_code,
    difference desc nulls last,
    h.lb - h.usual_lb desc,
    h.tracking_number,
    h.invoice_id,
    h.row_number
limit $limit
