-- The invoices that pass every filter but the level, whatever their state. An invoice that has no rows yet has no tenant's
-- name of its own: it takes the name under which the same tenant was billed before. The period filter means the
-- billing period when it is by ship date, else the invoice date; carrier and zone ask for a shipment that has them.
create or replace temp view filtered_invoices as
with names as (
    select tenant_id, arg_max(tenant, loaded_at) as tenant
    from invoices
    where tenant_id is not null and tenant is not null
    group by tenant_id
),
named as (
    select i.* replace (coalesce(i.tenant, n.tenant, i.partner_tenant_id) as tenant)
    from invoices as i
    left join names as n on i.tenant_id = n.tenant_id
)
select *
from named
where (getvariable('tenants') is null or list_contains(cast(getvariable('tenants') as varchar[]), tenant))
and (getvariable('currencies') is null or list_contains(cast(getvariable('currencies') as varchar[]), currency_code))
and (
    getvariable('date_from') is null
    or case when getvariable('date_basis') = 'invoice-date' then invoice_date else invoice_end_date end
    >= cast(getvariable('date_from') as date)
)
and (
    getvariable('date_to') is null
    or case when getvariable('date_basis') = 'invoice-date' then invoice_date else invoice_start_date end
    < cast(getvariable('date_to') as date)
)
and (
    (getvariable('carriers') is null and getvariable('zones') is null)
    or invoice_id in (
        select f.invoice_id
        from filtered_shipments as f
        -- Said again here, so that nobody reads all shipments for an answer that is not needed.
        where getvariable('carriers') is not null or getvariable('zones') is not null
    )
)
