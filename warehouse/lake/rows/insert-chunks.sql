-- A larger file, cut between its records (stretches.ts): as insert-one-pass.sql, each stretch by one thread.
insert into lake.main.shipment_rows by name
from numbered_stretches($load_id::integer, $folder, $stretches::integer, $invoice_id)
