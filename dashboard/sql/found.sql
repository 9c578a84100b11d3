-- Invoices by part of their number, by id or by the partner's own reference; events by id; tenants by part of a name or by id.
-- Case is ignored. Exact matches come first.
with matching as (
    select 'invoice' as kind, cast(invoice_id as varchar) as id, invoice_number as name, cast(null as varchar) as more,
        lower($words) in (lower(invoice_number), cast(invoice_id as varchar), lower(partner_invoice_id)) as is_exact
    from invoice_state
    where contains(lower(invoice_number), lower($words))
    or cast(invoice_id as varchar) = lower($words)
    or lower(partner_invoice_id) = lower($words)
    union all
    select 'event', cast(event_id as varchar), cast(event_id as varchar), event_type, true
    from events
    where lower(cast(event_id as varchar)) = lower($words)
    union all
    select 'tenant', coalesce(tenant_id, tenant), coalesce(tenant, partner_tenant_id, tenant_id), partner_tenant_id,
        list_contains(
            [lower(name) for name in coalesce(names, []) || [tenant, tenant_id, partner_tenant_id]], lower($words)
        )
    from tenants
    where contains(
        lower(concat_ws(chr(10), array_to_string(names, chr(10)), tenant, tenant_id, partner_tenant_id)), lower($words)
    )
)
select kind, id, coalesce(name, id) as name, more
from matching
order by is_exact desc, kind desc, name, id
limit 30
