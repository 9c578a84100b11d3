insert into batched_shipments by name
from numbered_csv($load_id::integer, $csv_path, $invoice_id)
