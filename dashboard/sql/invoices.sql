-- A page of invoices. Every filter is null for "all"; $search finds an invoice by number, id or the partner's own reference.
with found as (
    select
        invoice_id, invoice_number, coalesce(i.tenant, t.tenant, i.partner_tenant_id) as tenant, invoice_level, state, state_since,
        invoice_date, currency_code, stated_total_amount, billing_cost, shipments, proof, discrepancies, reason, first_heard_at,
        -- The dates of late charges contradict nothing (see the report proof).
        regexp_matches(coalesce(discrepancy_rules, ''), '\b(total-amount|shipment-count|currency)\b') as is_contradicted
    from invoices as i
    left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
    where ($states is null or list_contains(cast($states as varchar[]), state))
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
        or starts_with(lower(cast(invoice_id as varchar)), lower($search))
        or contains(lower(invoice_number), lower($search))
        or contains(lower(coalesce(partner_invoice_id, '')), lower($search))
    )
)
select *, count(*) over () as found
from found
order by
    case when $sort = 'number' then invoice_number end,
    case when $sort = 'tenant' then tenant end nulls last,
    case when $sort = 'state' then state end,
    case when $sort = 'cost' then billing_cost end desc nulls last,
    case when $sort = 'shipments' then shipments end desc nulls last,
    case when $sort = 'date' then invoice_date end desc nulls last,
    state_since desc,
    invoice_number,
    invoice_id
limit $limit offset $offset
