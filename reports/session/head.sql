-- What stands at the head of a result, by level: how much passes the filters, how it was weighed, how much is proved.
-- all_shipments and all_invoices ignore the filters: they decide which level is the one to report.
with counted as (
    select
        invoice_id,
        count(*) as all_shipments,
        count(*) filter (where passes) as shipments,
        count(*) filter (where passes and billable_weight is not null and billable_weight_unit = 'LB') as in_pounds,
        count(*) filter (where passes and billable_weight is not null and billable_weight_unit = 'KG') as in_kilograms
    from (
        select
            *,
            passes_filters(tenant, carrier, carrier_zone, currency_code, ship_date, invoice_generation_date) as passes
        from base_shipments
    )
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
    count(*) filter (where c.shipments > 0 and i.discrepancies > 0) as contradicted_invoices
from invoices as i
left join counted as c on c.invoice_id = i.invoice_id
group by all
order by level
