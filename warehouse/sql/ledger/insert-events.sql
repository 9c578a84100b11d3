-- Takes a batch of archived events (one JSON text, so that values are bound and a thousand cost one statement) into
-- the ledger, which has none of them: known-events.sql was asked, and what is taken again was released before.
insert into event_ledger
select
    event_id, received_at::timestamp, verdict, reason, event_type, event_timestamp::timestamp, partner_id, is_test_event,
    invoice_id::uuid, partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number, invoice_status,
    invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total, stated_shipments,
    announced_sha256, announced_size_bytes, announced_url, url_expires_at::timestamp
from (
    select unnest(from_json($events::json, '[{
        "event_id": "VARCHAR", "received_at": "VARCHAR", "verdict": "VARCHAR", "reason": "VARCHAR", "event_type": "VARCHAR",
        "event_timestamp": "VARCHAR", "partner_id": "VARCHAR", "is_test_event": "BOOLEAN", "invoice_id": "VARCHAR",
        "partner_invoice_id": "VARCHAR", "invoice_level": "VARCHAR", "tenant_id": "VARCHAR", "partner_tenant_id": "VARCHAR",
        "invoice_number": "VARCHAR", "invoice_status": "VARCHAR", "invoice_start_date": "VARCHAR", "invoice_end_date": "VARCHAR",
        "invoice_date": "VARCHAR", "invoice_due_date": "VARCHAR", "currency_code": "VARCHAR", "stated_total": "VARCHAR",
        "stated_shipments": "BIGINT", "announced_sha256": "VARCHAR", "announced_size_bytes": "BIGINT",
        "announced_url": "VARCHAR", "url_expires_at": "VARCHAR"}]'), recursive := true)
)
returning event_id, invoice_id
