-- What stands at the head of a result, by level: how much passes the filters, how it was weighed, how much is proved.
-- all_shipments and all_invoices ignore the filters: they decide which level is the one to report.
-- Every report waits for this, so the rows are read once, with two plain counts for each invoice and unit (weighed.sql), or
-- not at all (weighed-noted.sql).
with counted as (
    select
        invoice_id,
        sum(shipments) as all_shipments,
        coalesce(sum(shipments) filter (where passes), 0) as shipments,
        sum(with_weight) filter (where passes and unit = 'LB') as in_pounds,
        sum(with_weight) filter (where passes and unit = 'KG') as in_kilograms
    from weighed
    group by invoice_id
)
select
    i.invoice_level as level,
    count(*) as all_invoices,
    cast(coalesce(sum(c.all_shipments), 0) as bigint) as all_shipments,
    cast(coalesce(sum(c.shipments), 0) as bigint) as shipments,
    count(*) filter (where c.shipments > 0) as invoices,
    cast(coalesce(sum(c.in_pounds), 0) as bigint) as in_pounds,
    cast(coalesce(sum(c.in_kilograms), 0) as bigint) as in_kilograms,
    cast(coalesce(sum(c.shipments) filter (where i.proof in ('hash', 'header')), 0) as bigint) as proved,
    -- Money, count and currency contradict an invoice; the dates of late charges do not (see the report proof).
    count(*) filter (
        where c.shipments > 0
        and regexp_matches(coalesce(i.discrepancy_rules, ''), '\b(total-amount|shipment-count|currency)\b')
    ) as contradicted_invoices
from invoices as i
left join counted as c on c.invoice_id = i.invoice_id
where is_asked_partner(i.partner_id)
group by all
order by level
