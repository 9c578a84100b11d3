-- Rows of invoices that have one, made again by derive-invoice.ts from the ledgers.
update invoice_state as held set
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
from json_populate_recordset(null::invoice_state, $states::json) as made
where held.invoice_id = made.invoice_id
