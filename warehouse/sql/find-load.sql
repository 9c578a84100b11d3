select load_id, version, shipments::integer as shipments, billing_cost::varchar as billing_cost, currency_code
from loads
where invoice_id = $invoice_id::uuid and file_sha256 = $file_sha256
