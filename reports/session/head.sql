-- What stands at the head of a result, by level: how much passes the filters and how much of that is proved.
-- all_shipments ignores the filters: it decides which level is the one to report.
with counted as (
    select invoice_id, coalesce(invoice_level, 'unknown') as level, count(*) as shipments
    from base_shipments group by all
),
filtered as (
    select
        invoice_id,
        level,
        count(*) as shipments,
        count(billable_weight) as weighed
    from filtered_shipments group by all
)
select
    c.level,
    cast(sum(c.shipments) as bigint) as all_shipments,
    cast(coalesce(sum(f.shipments), 0) as bigint) as shipments,
    count(f.invoice_id) as invoices,
    cast(coalesce(sum(f.weighed), 0) as bigint) as weighed,
    cast(coalesce(sum(f.shipments) filter (where i.proof in ('hash', 'header')), 0) as bigint) as proved,
    count(f.invoice_id) filter (where i.discrepancies > 0) as contradicted_invoices
from counted as c
left join filtered as f on c.invoice_id = f.invoice_id and c.level = f.level
left join invoices as i on c.invoice_id = i.invoice_id
group by c.level
order by c.level
