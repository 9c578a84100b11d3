-- Queries of the commands on the published file; values are bound by name.

-- name: publication
-- The publication, and how many of its invoices need attention
select p.*, (select count(*) from invoices where state = 'needs_attention') as needs_attention
from publication as p

-- name: partners
-- The partners of all known invoices
select distinct partner_id
from invoices
where partner_id is not null

-- name: tenants-list
-- All names and ids of the tenants
select unnest(list_distinct(coalesce(names, []) || [tenant_id, partner_tenant_id])) as name
from tenants

-- name: invoices-list
-- Every known invoice, newest first
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
            [lower(given) for given in $tenants::varchar[]],
            [
                lower(name)
                for name in coalesce(t.names, []) || [i.tenant, i.partner_tenant_id, i.tenant_id, t.partner_tenant_id]
            ]
        )
    )
    and ($since::varchar is null or state_since >= $since::timestamptz)
order by first_seen_at desc, invoice_number desc, invoice_id

-- name: events-list
-- All received events, newest first, with counts of duplicates, including test events and refused ones
-- params: each null means all; $since is an instant
select event_id, received_at, event_type, verdict, reason, is_test_event, duplicates, invoice_id, invoice_number,
    tenant_id, partner_tenant_id, event_timestamp
from events
where ($since::varchar is null or received_at >= $since::timestamptz)
    and ($invoice::varchar is null or invoice_id::varchar = lower($invoice::varchar) or lower(invoice_number) = lower($invoice::varchar))
    and ($type::varchar is null or event_type = $type::varchar)
    and ($verdict::varchar is null or verdict = $verdict::varchar)
order by received_at desc, event_id
