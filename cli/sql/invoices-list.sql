-- title: Every invoice ever heard of, newest first
-- grain: invoice
-- params: $states varchar[], $tenants varchar[] (ids or names, in any letters), $since timestamp text; null means all
select
    invoice_id, invoice_number, coalesce(i.tenant, t.tenant, i.partner_tenant_id, i.tenant_id) as tenant, invoice_level,
    state, reason_code, reason, state_since, shipments, billing_cost, currency_code, currencies, proof, discrepancies,
    stated_total_amount, h.stated_currency_code, stated_shipments, invoice_date, version, file_sha256,
    first_seen_at, created_at, finalized_at, loaded_at, voided_at, i.tenant_id, i.partner_id
from invoices as i
left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
join (select invoice_id, currency_code as stated_currency_code from invoice_state) as h using (invoice_id)
where ($states::varchar[] is null or list_contains($states::varchar[], state))
    and (
        $tenants::varchar[] is null
        or list_has_any(
            [lower(word) for word in $tenants::varchar[]],
            [
                lower(name)
                for name in coalesce(t.names, []) || [i.tenant, i.partner_tenant_id, i.tenant_id, t.partner_tenant_id]
            ]
        )
    )
    and ($since::varchar is null or state_since >= $since::timestamptz)
order by first_seen_at desc, invoice_number desc, invoice_id
