insert into lake.main.shipment_rows from batched_shipments
