-- title: What do light and heavy shipments cost?
-- grain: weight break, currency
-- means: a shipment belongs to the break above over_lb, up to and with up_to_lb; kilograms are brought to pounds at
--   2.2046226218 first and are not rounded. The rows without bounds are shipments that have no weight.
--   cost_per_shipment is billing_cost divided by packages, the distinct tracking numbers of a carrier; shipments counts lines, and
--   a package billed with two weights counts in both breaks.
-- cannot say: whether the weight is the scale's or a dimensional one; an invoice file has only the billed weight.
-- units: over_lb lb, up_to_lb lb, share_of_shipments %, billing_cost money, cost_per_shipment money,
--   billable_weight_lb lb, cost_per_lb money/lb, credits money
-- detail: credits
-- chart: bar key=weight_break value=cost_per_shipment
-- example: 1 lb is in the break up to 1 lb; 0.4536 kg are 1.00001682124848 lb, a little more, and in the next.
--   lines: billable_weight | billable_weight_unit | billing_cost
--   1 | LB | 8
--   0.4536 | KG | 9
--   | | 4
--   rows: weight_break | shipments | billing_cost
--   0 to 1 lb | 1 | 8.0000
--   1 to 2 lb | 1 | 9.0000
--   no weight | 1 | 4.0000
with breaks (over_lb, up_to_lb) as (
    values (-1, 0), (0, 1), (1, 2), (2, 3), (3, 5), (5, 10), (10, 20), (20, 30), (30, 50), (50, 70), (70, 150), (150, null)
),
-- Equal weights are one row before anything is converted or compared with the breaks.
weighed as (
    select
        lb_of(billable_weight, billable_weight_unit) as lb,
        billable_weight_unit as unit,
        currency_code,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        sum(billable_weight) as weight,
        credits_of(billing_cost) as credits
    from selected_shipments
    group by billable_weight, billable_weight_unit, currency_code
),
totals as (
    select
        w.currency_code,
        b.over_lb,
        b.up_to_lb,
        cast(sum(w.shipments) as bigint) as shipments,
        sum(w.billing_cost) as billing_cost,
        sum_lb(w.weight, w.unit) as billable_weight_lb,
        per_lb(sum(w.billing_cost), w.weight, w.unit) as cost_per_lb,
        sum(w.credits) as credits
    from weighed as w
    left join breaks as b on w.lb > b.over_lb and (b.up_to_lb is null or w.lb <= b.up_to_lb)
    group by all
),
repeated as (
    select
        l.currency_code,
        b.over_lb,
        count(*) - count(distinct (l.carrier, l.tracking_number)) as repeats
    from (select *, lb_of(billable_weight, billable_weight_unit) as lb from repeated_lines) as l
    left join breaks as b on l.lb > b.over_lb and (b.up_to_lb is null or l.lb <= b.up_to_lb)
    group by all
)
select
    case
        when t.over_lb is null then 'no weight'
        when t.up_to_lb = 0 then '0 lb'
        when t.up_to_lb is null then 'over ' || t.over_lb || ' lb'
        else t.over_lb || ' to ' || t.up_to_lb || ' lb'
    end as weight_break,
    t.currency_code,
    case when t.over_lb >= 0 then t.over_lb end as over_lb,
    t.up_to_lb,
    t.shipments,
    percent_of(t.shipments, sum(t.shipments) over (partition by t.currency_code)) as share_of_shipments,
    t.billing_cost,
    per(t.billing_cost, t.shipments - coalesce(r.repeats, 0)) as cost_per_shipment,
    t.billable_weight_lb,
    t.cost_per_lb,
    t.shipments - coalesce(r.repeats, 0) as packages,
    t.credits
from totals as t
left join repeated as r on r.over_lb is not distinct from t.over_lb and r.currency_code = t.currency_code
order by t.currency_code, t.over_lb nulls last
