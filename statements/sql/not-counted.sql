-- Invoices that no total has, drafts and voided ones among them, with why; also those whose date is not known.
select
    partner_id,
    tenant_id,
    coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
    month_of(invoice_date) as period,
    cast(invoice_id as varchar) as invoice_id,
    invoice_number,
    state,
    reason,
    currency_code,
    stated_total_text as stated_total,
    voided_at
from known_invoices
where (load_id is null or voided_at is not null)
and list_contains(cast(getvariable('levels') as varchar[]), invoice_level)
and is_asked_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
and (invoice_date is null or (invoice_date >= cast($from as date) and invoice_date < cast($to as date)))
order by tenant, tenant_id, partner_id, invoice_number, invoice_id
