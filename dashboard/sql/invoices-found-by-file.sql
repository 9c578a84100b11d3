-- As invoices-found.sql, for a list that is sorted or chosen by what the files say: the tenant's name, cost, shipments.
with matching as (
    select
        i.invoice_id, i.invoice_number, i.state_since,
        case when $sort = 'state' then i.state end as state,
        case when $sort = 'date' then i.invoice_date end as invoice_date,
        case when $sort = 'tenant' then coalesce(i.tenant, t.tenant, i.partner_tenant_id) end as tenant,
        case when $sort = 'cost' then i.billing_cost end as billing_cost,
        case when $sort = 'shipments' then i.shipments end as shipments
    from invoices as i
    left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
    where ($states is null or list_contains(cast($states as varchar[]), i.state))
    and (
        $tenants is null
        or list_has_any(
            [lower(word) for word in cast($tenants as varchar[])],
            [
                lower(name)
                for name in coalesce(t.names, []) || [i.tenant, i.partner_tenant_id, i.tenant_id, t.partner_tenant_id]
            ]
        )
    )
    and (
        $search is null
        or starts_with(lower(cast(i.invoice_id as varchar)), lower($search))
        or contains(lower(i.invoice_number), lower($search))
        or contains(lower(coalesce(i.partner_invoice_id, '')), lower($search))
    )
)
select cast(invoice_id as varchar) as invoice_id, (select count(*) from matching) as found
from matching
order by
    case when $sort = 'number' then invoice_number end,
    tenant nulls last,
    state,
    billing_cost desc nulls last,
    shipments desc nulls last,
    invoice_date desc nulls last,
    state_since desc,
    invoice_number,
    invoice_id
limit $limit offset $offset
