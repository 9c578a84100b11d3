-- Everything that says something about these invoices since an instant: events that count, and details answers.
select
    invoice_id::text as invoice_id, iso(received_at) as recorded_at, iso(coalesce(event_timestamp, received_at)) as event_time,
    event_id, event_type, invoice_status, partner_id, partner_invoice_id, invoice_level, tenant_id, partner_tenant_id,
    invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total,
    stated_shipments::float8 as stated_shipments, announced_sha256, announced_size_bytes::float8 as announced_size_bytes
from event_ledger
where invoice_id = any(list($invoice_ids)::uuid[]) and verdict = 'accepted' and not is_test_event
    and received_at >= $since::timestamp
union all
select
    invoice_id::text, iso(recorded_at), iso(recorded_at), null, null, invoice_status, null, partner_invoice_id, invoice_level,
    tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date,
    currency_code, stated_total, stated_shipments::float8, null, null
from details_ledger
where invoice_id = any(list($invoice_ids)::uuid[]) and recorded_at >= $since::timestamp
