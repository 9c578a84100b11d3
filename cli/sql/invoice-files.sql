-- title: The files that were had for one invoice, and which of them counts
-- grain: file
select file_sha256, file_size_bytes, file_source, came_from, first_had_at, times_had, version, shipments, billing_cost,
    currency_code, loaded_at, is_current
from files
where invoice_id::varchar = $invoice
order by first_had_at, file_sha256
