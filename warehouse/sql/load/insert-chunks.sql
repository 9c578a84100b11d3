-- A larger file, cut between its records (chunks.ts): as insert-one-pass.sql, each chunk by one thread.
insert into shipment_rows by name
from numbered_chunks($load_id::integer, $folder, $chunks::integer, $invoice_id)
