-- What a few letters may mean: an invoice by number, id or the partner's own reference, an event by id, a tenant by name or
-- id. Exact in all but capital letters.
select 'invoice' as kind, cast(invoice_id as varchar) as id, coalesce(invoice_number, cast(invoice_id as varchar)) as name,
    tenant as more
from invoices
where lower($words) in (lower(invoice_number), cast(invoice_id as varchar), lower(partner_invoice_id))
union
select 'event', cast(event_id as varchar), cast(event_id as varchar), event_type
from events
where lower(cast(event_id as varchar)) = lower($words)
union
select 'tenant', coalesce(tenant_id, tenant), coalesce(tenant, partner_tenant_id, tenant_id), partner_tenant_id
from tenants
where list_contains(
    [lower(name) for name in coalesce(names, []) || [tenant, tenant_id, partner_tenant_id]], lower($words)
)
order by kind, name, id
limit 50
