-- Whether an invoice is voided already and has rows.
select voided_at is not null as is_voided, current_load_id is not null as has_rows
from invoice_state
where invoice_id = $invoice_id::uuid
