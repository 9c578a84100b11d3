-- name: publication
select sequence, published_at from publication order by sequence desc limit 1

-- name: levels
-- Shipments and invoices by level without filters; they decide the default level. Grouped by partner, so that all sessions
-- share the result. Counts are those of loads, so no row is read.
select
    partner_id,
    invoice_level as level,
    count(*) as all_invoices,
    cast(coalesce(sum(shipments) filter (where voided_at is null), 0) as bigint) as all_shipments
from invoices
group by all
order by level

-- name: levels-as-known-on
-- The same as levels, of the shipments that counted at an instant; of invoices as they are now.
select i.partner_id, i.level, i.all_invoices, coalesce(s.all_shipments, 0) as all_shipments
from (select partner_id, invoice_level as level, count(*) as all_invoices from invoices group by all) as i
left join (select partner_id, invoice_level as level, count(*) as all_shipments from known_shipments group by all) as s
    on s.level = i.level and s.partner_id is not distinct from i.partner_id
order by level

-- name: head
-- The head of a result by level: what passes the filters, in which unit it was weighed, and how much is proved. Every report
-- waits for this, so the rows are read once (see weighed).
with counted as (
    select
        invoice_id,
        sum(shipments) as shipments,
        sum(with_weight) filter (where unit = 'LB') as in_pounds,
        sum(with_weight) filter (where unit = 'KG') as in_kilograms
    from weighed
    group by invoice_id
)
select
    coalesce(i.invoice_level, 'unknown') as level,
    cast(sum(c.shipments) as bigint) as shipments,
    count(*) as invoices,
    cast(coalesce(sum(c.in_pounds), 0) as bigint) as in_pounds,
    cast(coalesce(sum(c.in_kilograms), 0) as bigint) as in_kilograms,
    cast(coalesce(sum(c.shipments) filter (where i.proof in ('hash', 'header')), 0) as bigint) as proved,
    -- Money, count and currency contradict an invoice; the dates of late charges do not (see the report proof).
    count(*) filter (
        where i.invoice_id in (
            select invoice_id from discrepancy_lines where rule in ('total-amount', 'shipment-count', 'currency')
        )
    ) as contradicted_invoices
from counted as c
join invoice_state as i on i.invoice_id = c.invoice_id
group by all
