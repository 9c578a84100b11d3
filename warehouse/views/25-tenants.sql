-- A row per tenant of a partner, identified by its id; the name is from the latest invoice. A tenant without a known id
-- (imported without details) is identified by its name. A partner-level invoice has no tenant.
create or replace view tenants as
select
    i.partner_id,
    i.tenant_id,
    arg_max(l.tenant, row(coalesce(i.invoice_date, ''), i.loaded_at, i.invoice_id)) filter (where l.tenant is not null)
        as tenant,
    arg_max(i.partner_tenant_id, row(coalesce(i.invoice_date, ''), i.first_seen_at, i.invoice_id))
        filter (where i.partner_tenant_id is not null) as partner_tenant_id,
    list_sort(list(distinct l.tenant) filter (where l.tenant is not null)) as names,
    count(*) as invoices
from internal.owned_invoices as i
left join internal.loads as l on l.load_id = i.current_load_id
where coalesce(i.invoice_level, 'tenant') <> 'partner'
group by i.partner_id, i.tenant_id, case when i.tenant_id is null then l.tenant end
having i.tenant_id is not null or max(l.tenant) is not null;
