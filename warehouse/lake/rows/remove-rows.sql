-- Rows whose load never came to count: their writer ended between the rows and the ledger.
delete from lake.main.shipment_rows where load_id = $load_id::integer
