-- name: invoice
-- The invoices of an id, or of a number: exactly that number, else in any letters
select i.* replace (coalesce(i.tenant, t.tenant, i.partner_tenant_id, i.tenant_id) as tenant)
from invoices as i
left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
where i.invoice_id::varchar = lower($invoice)
    or i.invoice_number = $invoice
    or (lower(i.invoice_number) = lower($invoice) and $invoice not in (select invoice_number from invoices where invoice_number is not null))
order by i.first_seen_at, i.invoice_id

-- name: invoice-numbers
-- The numbers of all invoices, to look one up or to suggest the nearest
select invoice_number, cast(invoice_id as varchar) as invoice_id
from invoices
where invoice_number is not null
order by first_seen_at, invoice_id

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
order by "at", what, detail

-- name: invoice-names
-- Number (else id) and tenant of the invoices with these ids
select
    i.invoice_id::varchar as invoice_id,
    coalesce(i.invoice_number, i.invoice_id::varchar) as number,
    coalesce(i.tenant, t.tenant, i.partner_tenant_id, i.tenant_id, '') as tenant
from invoices as i
left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
where list_contains($ids::varchar[], i.invoice_id::varchar)
