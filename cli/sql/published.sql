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

-- name: invoice-numbers
-- The numbers of all invoices, to look one up or to suggest the nearest
select invoice_number, cast(invoice_id as varchar) as invoice_id
from invoices
where invoice_number is not null
order by first_seen_at, invoice_id

-- name: invoice
-- One invoice, by its id or its number
select i.* replace (coalesce(i.tenant, t.tenant, i.partner_tenant_id, i.tenant_id) as tenant)
from invoices as i
left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
where i.invoice_id::varchar = lower($invoice) or i.invoice_number = $invoice
order by i.first_seen_at

-- name: invoice-amounts
-- The totals of one load, by currency
select currency_code, count(*) as shipments, sum(billing_cost)::decimal(38, 4) as billing_cost
from shipment_rows
where load_id = try_cast($load as integer)
group by currency_code
order by currency_code

-- name: invoice-discrepancies
-- The discrepancies of one invoice
select rule, stated, found, file_sha256, event_id, recorded_at
from discrepancies
where invoice_id::varchar = $invoice
order by rule, recorded_at

-- name: invoice-events
-- The events of one invoice, in order of arrival
select event_id, received_at, event_type, verdict, reason, is_test_event, duplicates, event_timestamp, announced_sha256
from events
where invoice_id::varchar = $invoice
order by received_at, event_id

-- name: invoice-files
-- The files of one invoice, and the one that counts
select file_sha256, file_size_bytes, file_source, came_from, first_had_at, times_had, version, shipments, billing_cost,
    currency_code, loaded_at, is_current
from files
where invoice_id::varchar = $invoice
order by first_had_at, file_sha256

-- name: invoice-records
-- Other records of one invoice in order of time: details of the service, records of billsync, decisions
select recorded_at as at, 'the service' as who, 'details: ' || coalesce(invoice_status, 'no status that we know') as what,
    stated_total as detail
from details_ledger
where invoice_id::varchar = $invoice
union all
select a.recorded_at, case when kind = 'hash' then 'the service' else coalesce(a.decided_by, 'billsync') end,
    case when kind = 'hash' then 'hash of its file' when kind = 'restored' then 'void undone' when kind = 'version' then coalesce('version ' || l.version || ' counts', 'another file counts')
        when kind = 'failure' and is_open then 'fails: ' || code when kind = 'failure' then 'goes well again'
        when is_open then 'needs attention: ' || code else 'attention resolved' end,
    case when kind = 'hash' then a.file_sha256 else reason end
from attention_ledger as a
left join loads as l on a.kind = 'version' and l.invoice_id = a.invoice_id and l.file_sha256 = a.file_sha256
where a.invoice_id::varchar = $invoice
order by "at", what

-- name: events-list
-- All received events, newest first, with counts of duplicates, including test events and refused ones
-- params: each null means all; $since is an instant
select event_id, received_at, event_type, verdict, reason, is_test_event, duplicates, invoice_id, invoice_number,
    tenant_id, partner_tenant_id, event_timestamp
from events
where ($since::varchar is null or received_at >= $since::timestamptz)
    and ($invoice::varchar is null or invoice_id::varchar = lower($invoice::varchar) or invoice_number = $invoice::varchar)
    and ($type::varchar is null or event_type = $type::varchar)
    and ($verdict::varchar is null or verdict = $verdict::varchar)
order by received_at desc, event_id
