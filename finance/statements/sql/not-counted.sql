-- Invoices that no total has, drafts and voided ones among them, with why; also those whose date is not known.
-- By ship date an invoice without lines belongs to every month of its billing period.
select
    partner_id,
    tenant_id,
    coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
    month_of(first_day) as first_month,
    month_of(last_day) as last_month,
    cast(invoice_id as varchar) as invoice_id,
    invoice_number,
    state,
    reason,
    currency_code,
    stated_total_text as stated_total,
    voided_at
from (
    select
        *,
        if(getvariable('date_basis') = 'invoice-date', invoice_date, coalesce(invoice_start_date, invoice_date)) as first_day,
        if(getvariable('date_basis') = 'invoice-date', invoice_date, coalesce(invoice_end_date, invoice_date)) as last_day
    from known_invoices
)
where (load_id is null or voided_at is not null)
and list_contains(cast(getvariable('levels') as varchar[]), invoice_level)
and is_asked_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
and (first_day is null or last_day is null or (last_day >= cast($from as date) and first_day <= cast($to as date)))
order by tenant, tenant_id, partner_id, invoice_number, invoice_id
