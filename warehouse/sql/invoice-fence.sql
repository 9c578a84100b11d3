-- What a load must know before it writes a row; asked again inside its transaction.
select
    voided_at is not null as is_voided, current_load_id is not null as has_rows,
    stated_total, stated_shipments::integer as stated_shipments, currency_code
from invoice_state
where invoice_id = $invoice_id::uuid
