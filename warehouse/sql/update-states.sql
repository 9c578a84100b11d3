-- Rows of invoices that have one, made again by derive-invoice.ts from the ledgers.
update invoice_state set
    state = made.state, reason_code = made.reason_code, reason = made.reason, state_since = made.state_since,
    service_status = made.service_status, current_load_id = made.current_load_id, proof = made.proof,
    partner_id = made.partner_id, partner_invoice_id = made.partner_invoice_id,
    invoice_level = made.invoice_level, tenant_id = made.tenant_id, partner_tenant_id = made.partner_tenant_id,
    invoice_number = made.invoice_number, invoice_start_date = made.invoice_start_date,
    invoice_end_date = made.invoice_end_date, invoice_date = made.invoice_date,
    invoice_due_date = made.invoice_due_date, currency_code = made.currency_code,
    stated_total = made.stated_total, stated_shipments = made.stated_shipments, event_id = made.event_id,
    first_heard_at = made.first_heard_at, created_at = made.created_at, finalized_at = made.finalized_at,
    first_loaded_at = made.first_loaded_at, loaded_at = made.loaded_at, voided_at = made.voided_at,
    attention_at = made.attention_at, resolved_at = made.resolved_at, versions = made.versions
from (
    select
        invoice_id::uuid as invoice_id, state, reason_code, reason, state_since::timestamp as state_since, service_status, current_load_id, proof, partner_id,
        partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date,
        invoice_date, invoice_due_date, currency_code, stated_total, stated_shipments, event_id, first_heard_at::timestamp as first_heard_at,
        created_at::timestamp as created_at, finalized_at::timestamp as finalized_at, first_loaded_at::timestamp as first_loaded_at, loaded_at::timestamp as loaded_at, voided_at::timestamp as voided_at,
        attention_at::timestamp as attention_at, resolved_at::timestamp as resolved_at, versions
    from (
        select unnest(from_json($states::json, '[{
            "invoice_id": "VARCHAR", "state": "VARCHAR", "reason_code": "VARCHAR", "reason": "VARCHAR", "state_since": "VARCHAR",
            "service_status": "VARCHAR", "current_load_id": "INTEGER", "proof": "VARCHAR", "partner_id": "VARCHAR",
            "partner_invoice_id": "VARCHAR", "invoice_level": "VARCHAR", "tenant_id": "VARCHAR", "partner_tenant_id": "VARCHAR",
            "invoice_number": "VARCHAR", "invoice_start_date": "VARCHAR", "invoice_end_date": "VARCHAR", "invoice_date": "VARCHAR",
            "invoice_due_date": "VARCHAR", "currency_code": "VARCHAR", "stated_total": "VARCHAR", "stated_shipments": "BIGINT",
            "event_id": "VARCHAR", "first_heard_at": "VARCHAR", "created_at": "VARCHAR", "finalized_at": "VARCHAR",
            "first_loaded_at": "VARCHAR", "loaded_at": "VARCHAR", "voided_at": "VARCHAR", "attention_at": "VARCHAR",
            "resolved_at": "VARCHAR", "versions": "INTEGER"}]'), recursive := true)
    )
) as made
where invoice_state.invoice_id = made.invoice_id
