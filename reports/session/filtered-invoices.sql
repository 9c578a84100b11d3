-- The invoices that pass every filter but the level, whatever their state. The period filter means the billing period when it is by ship date, else the invoice date; carrier and zone ask for a shipment that has them.
create or replace temp view filtered_invoices as
select * replace (coalesce(tenant, partner_tenant_id) as tenant)
from known_invoices
where is_asked_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
and (
    is_asked_currency(currency_code)
    or list_has_any(cast(getvariable('currencies') as varchar[]), string_split(currencies, ','))
)
and (
    getvariable('date_from') is null
    or case when getvariable('date_basis') = 'invoice-date' then invoice_date else invoice_end_date end
    >= cast(getvariable('date_from') as date)
)
and (
    getvariable('date_to') is null
    or case when getvariable('date_basis') = 'invoice-date' then invoice_date else invoice_start_date end
    <= cast(getvariable('date_to') as date)
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
