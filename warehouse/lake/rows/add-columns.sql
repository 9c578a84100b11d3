-- What create-rows.sql has that a lake of an earlier billsync lacks.
alter table lake.main.shipment_rows add column if not exists added_columns varchar
