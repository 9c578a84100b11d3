-- title: Possible dimensional weight charges
-- purpose: Audit, 9
-- grain: shipment
-- params: $times decimal = 2: lists a line billed at this many times the usual weight or more
--   $min_lb integer = 3: and at this many pounds more
--   $min_shipments integer = 20: the number of lines that make a usual weight
--   $limit integer = 100000: list at most this many rows of each partner and currency, the first in the report's order
-- means: Carriers bill a light, large parcel by its size, and the file has only the billed weight. Lists charges whose
--   `billed_lb` (rounded up to whole pounds) far exceeds `usual_lb`: at least nine of ten charges of the tenant with
--   the same carrier, service and origin weigh no more. `usual_cost` is the median charge at the usual weight with the
--   same carrier, service, zone, month and currency. The filters choose the lines that are listed; they are compared
--   with everything loaded.
-- order: currency; greatest difference first (none last); greatest billed_lb less usual_lb first; tracking_number
-- limits: Sizes and real weights are not in an invoice file, so the parcel may be heavy, large or wrongly measured.
--   Where more than a tenth of the lines are billed like this, it is usual.
-- units: billed_lb lb, usual_lb lb
-- detail: invoice_id, row_number
-- drilldown: shipments by invoice_id, row_number; billing_cost
-- example: Of ten parcels nine weigh up to 4 lb, so 4 lb is usual; the tenth was billed as 24 lb. Parcels of 4 lb cost
--   10 and 12, so the usual cost is 11 and 29 are in question.
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
-- The rows pass through a list, because DuckDB then expects few of them and plans a fast join.
listed as (
    select unnest(places, max_depth := 2) from (select list(u) as places from usual as u)
),
heavy as (
    select s.*, w.place, w.n, w.usual_lb, rated_lb(s.billable_weight, s.billable_weight_unit) as lb
    from selected_shipments as s
    join listed as w
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
        twice_median_of(s.billing_cost) as twice_usual
    from loaded_shipments as s
    semi join listed as w
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
    half_amount(p.twice_usual) as usual_cost,
    half_amount(2 * ten_thousandths(h.billing_cost) - p.twice_usual) as difference,
    h.n as like_shipments,
    h.invoice_id,
    h.row_number
from heavy as h
left join prices as p
    on p.carrier = h.carrier and p.service_level = h.service_level and p.zone = h.zone and p.currency_code = h.currency_code
    and p.lb = h.usual_lb and p.start = month_start(h.report_date)
qualify row_number() over (
    partition by h.currency_code order by difference desc nulls last, h.lb - h.usual_lb desc, h.tracking_number, h.invoice_id, h.row_number
) <= $limit
order by h.currency_code, difference desc nulls last, h.lb - h.usual_lb desc, h.tracking_number, h.invoice_id, h.row_number
