-- The files that a load's rows were written to, inside its transaction.
select distinct filename as path from lake.main.shipment_rows where load_id = $load_id::integer
