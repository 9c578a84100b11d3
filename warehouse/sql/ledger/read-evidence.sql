-- Everything that says something about these invoices since an instant: events that count, and details answers. Lines lie
-- nearly in the order of their instants, so what is older is hardly read.
select
    e.invoice_id::varchar as invoice_id, iso(received_at) as recorded_at, iso(coalesce(event_timestamp, received_at)) as event_time,
    event_id, event_type, invoice_status, partner_id, partner_invoice_id, invoice_level, tenant_id, partner_tenant_id,
    invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total,
    stated_shipments::double as stated_shipments, announced_sha256, announced_size_bytes::double as announced_size_bytes
from event_ledger as e
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = e.invoice_id
where verdict = 'accepted' and not is_test_event and received_at >= $since::timestamp
union all
select
    d.invoice_id::varchar, iso(recorded_at), iso(recorded_at), null, null, invoice_status, null, partner_invoice_id, invoice_level,
    tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date,
    currency_code, stated_total, stated_shipments::double, null, null
from details_ledger as d
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = d.invoice_id
where recorded_at >= $since::timestamp
