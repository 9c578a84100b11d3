-- A small file, or one that a stage would not fit in memory for: read, checked, cast and inserted in one pass.
insert into lake.main.shipment_rows
from numbered_csv($load_id::integer, $csv_path, $invoice_id, $in_parallel::boolean)
