-- A file of up to one row group: read, checked, cast, numbered and inserted in one pass.
insert into shipment_rows by name
from numbered_csv($load_id::integer, $csv_path, $invoice_id)
