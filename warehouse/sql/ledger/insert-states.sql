-- Invoices' rows as derive-invoice.ts made them from the ledgers; what there was of them is forgotten already. Not an
-- upsert: its plan costs three times an insert's. Two connections that insert one invoice meet at its key (claim-invoices.sql).
insert into invoice_state
select
    invoice_id::uuid, state, reason_code, reason, state_since::timestamp, service_status, current_load_id, proof, partner_id,
    partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date,
    invoice_date, invoice_due_date, currency_code, stated_total, stated_shipments, event_id, first_heard_at::timestamp,
    created_at::timestamp, finalized_at::timestamp, first_loaded_at::timestamp, loaded_at::timestamp, voided_at::timestamp,
    attention_at::timestamp, resolved_at::timestamp, versions, notes, void_word, restored_at::timestamp, past_voids
from (
    select unnest(from_json($states::json, '[{
        "invoice_id": "VARCHAR", "state": "VARCHAR", "reason_code": "VARCHAR", "reason": "VARCHAR", "state_since": "VARCHAR",
        "service_status": "VARCHAR", "current_load_id": "INTEGER", "proof": "VARCHAR", "partner_id": "VARCHAR",
        "partner_invoice_id": "VARCHAR", "invoice_level": "VARCHAR", "tenant_id": "VARCHAR", "partner_tenant_id": "VARCHAR",
        "invoice_number": "VARCHAR", "invoice_start_date": "VARCHAR", "invoice_end_date": "VARCHAR", "invoice_date": "VARCHAR",
        "invoice_due_date": "VARCHAR", "currency_code": "VARCHAR", "stated_total": "VARCHAR", "stated_shipments": "BIGINT",
        "event_id": "VARCHAR", "first_heard_at": "VARCHAR", "created_at": "VARCHAR", "finalized_at": "VARCHAR",
        "first_loaded_at": "VARCHAR", "loaded_at": "VARCHAR", "voided_at": "VARCHAR", "attention_at": "VARCHAR",
        "resolved_at": "VARCHAR", "versions": "INTEGER", "notes": "INTEGER", "void_word": "VARCHAR",
        "restored_at": "VARCHAR", "past_voids": "VARCHAR"}]'), recursive := true)
)
