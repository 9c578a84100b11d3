-- A file of another form than the specified one, written anew in chunks with its added columns as a fifteenth (tolerate.ts).
insert into lake.main.shipment_rows by name
from numbered_tolerated($load_id::integer, $folder, $chunks::integer, $invoice_id)
