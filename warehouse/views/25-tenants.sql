-- A row per tenant of a partner, identified by its id; the name is from the latest invoice, also where some invoices of the tenant
-- name no partner. A tenant without a known id (imported without details) is identified by its name. A partner-level invoice has
-- no tenant.
create or replace view tenants as
with billed as (
    select
        i.*,
        l.tenant,
        if(i.tenant_id is null, [i.partner_id, l.tenant], [i.tenant_id]) as key
    from internal.owned_invoices as i
    left join internal.loads as l on l.load_id = i.current_load_id
    where coalesce(i.invoice_level, 'tenant') <> 'partner' and (i.tenant_id is not null or l.tenant is not null)
),
named as (
    select
        key,
        arg_max(tenant, row(coalesce(invoice_date, ''), loaded_at, invoice_id)) as tenant,
        arg_max(partner_tenant_id, row(coalesce(invoice_date, ''), first_seen_at, invoice_id)) as partner_tenant_id,
        list_sort(list(distinct tenant) filter (where tenant is not null)) as names
    from billed
    group by key
)
select
    b.partner_id,
    b.tenant_id,
    n.tenant,
    n.partner_tenant_id,
    n.names,
    count(*) as invoices
from billed as b
join named as n on n.key is not distinct from b.key
group by b.key, b.partner_id, b.tenant_id, n.tenant, n.partner_tenant_id, n.names;
