-- name: listed
-- A page begins behind the last row of the one before, so all pages are equally fast.
select {{columns}}
from selected_shipments as s
where {{conditions}} and {{behind}}
order by s.{{sorted_by}} {{direction}} nulls last, s.invoice_id, s.row_number
limit $limit

-- name: listed-count
select count(*) as shipments
from selected_shipments as s
where {{conditions}} and {{behind}}

-- name: totals
with
matched as materialized (
    select
        s.level,
        s.invoice_id,
        s.partner_id,
        s.currency_code,
        s.billable_weight_unit as unit,
        count(*) as shipments,
        count(s.billable_weight) as weighed,
        sum(s.billing_cost) as billing_cost,
        credits_of(s.billing_cost) as credits,
        sum(s.billable_weight) as weight
    from filtered_shipments as s
    where {{conditions}}
    group by all
),
-- Few tracking numbers are on several lines; their marks find them.
marks as (
    select distinct mark
    from (
        select mark, lag(mark) over (order by mark) as mark_before
        from (select mark_of(s.tracking_number) as mark from selected_shipments as s where {{conditions}})
    )
    where mark = mark_before
),
repeats as (
    select s.partner_id, s.currency_code, count(*) - count(distinct (s.carrier, s.tracking_number)) as repeats
    from selected_shipments as s
    semi join marks as m on m.mark = mark_of(s.tracking_number)
    where {{conditions}}
    group by all
),
totals as (
    select
        partner_id,
        currency_code,
        cast(sum(shipments) as bigint) as shipments,
        sum(billing_cost) as billing_cost,
        count(distinct invoice_id) as invoices,
        sum_lb(weight, unit) as billable_weight_lb,
        per_lb(sum(billing_cost), weight, unit) as cost_per_lb,
        sum(credits) as credits
    from matched
    where matches_level(level)
    group by all
),
levels as (
    select
        a.level,
        cast(sum(a.shipments) as bigint) as shipments,
        count(distinct a.invoice_id) as invoices,
        cast(coalesce(sum(a.weighed) filter (where a.unit = 'LB'), 0) as bigint) as in_pounds,
        cast(coalesce(sum(a.weighed) filter (where a.unit = 'KG'), 0) as bigint) as in_kilograms,
        cast(coalesce(sum(a.shipments) filter (where i.proof in ('hash', 'header')), 0) as bigint) as proved,
        count(distinct a.invoice_id) filter (
            where regexp_matches(coalesce(i.discrepancy_rules, ''), '\b(total-amount|shipment-count|currency)\b')
        ) as contradicted_invoices
    from matched as a
    left join invoices as i on i.invoice_id = a.invoice_id
    group by all
)
select
    t.currency_code,
    t.shipments,
    t.billing_cost,
    packages_of(t.shipments, r.repeats) as packages,
    t.invoices,
    per(t.billing_cost, packages_of(t.shipments, r.repeats)) as cost_per_shipment,
    t.billable_weight_lb,
    t.cost_per_lb,
    t.credits,
    t.partner_id
from totals as t
left join repeats as r on r.currency_code = t.currency_code and r.partner_id is not distinct from t.partner_id
union all by name
from levels
order by level nulls first, currency_code, partner_id
