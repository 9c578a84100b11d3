-- What the shipments that pass the filters and the conditions come to: a row for each currency, partners never added up; and,
-- for the head, a row for each level, so that it can be said what the chosen one leaves out.
with
asked as materialized (
    {{asked}}
),
repeats as (
    select partner_id, currency_code, count(*) - count(distinct (carrier, tracking_number)) as repeats
    from (
        {{repeats}}
    )
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
    from asked
    where list_contains(cast(getvariable('levels') as varchar[]), level)
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
    from asked as a
    left join invoices as i on i.invoice_id = a.invoice_id
    group by all
)
select
    t.currency_code,
    t.shipments,
    t.billing_cost,
    t.shipments - coalesce(r.repeats, 0) as packages,
    t.invoices,
    per(t.billing_cost, t.shipments - coalesce(r.repeats, 0)) as cost_per_shipment,
    t.billable_weight_lb,
    t.cost_per_lb,
    t.credits,
    t.partner_id
from totals as t
left join repeats as r on r.currency_code = t.currency_code and r.partner_id is not distinct from t.partner_id
union all by name
from levels
order by level nulls first, currency_code, partner_id
