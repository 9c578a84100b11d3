-- Invoices' rows as they are stored, in the shape that derive-invoice.ts makes.
select
    invoice_id::varchar as invoice_id, state, reason_code, reason, iso(state_since) as state_since, service_status, current_load_id, proof, partner_id,
    partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date,
    invoice_date, invoice_due_date, currency_code, stated_total, stated_shipments::double as stated_shipments, event_id,
    iso(first_heard_at) as first_heard_at, iso(created_at) as created_at, iso(finalized_at) as finalized_at,
    iso(first_loaded_at) as first_loaded_at, iso(loaded_at) as loaded_at, iso(voided_at) as voided_at,
    iso(attention_at) as attention_at, iso(resolved_at) as resolved_at, versions, notes, void_word,
    iso(restored_at) as restored_at, past_voids
from invoice_state
order by invoice_id
