-- Columns that a file had besides the fourteen, as a JSON object of texts (BILLSYNC_CSV_TOLERATE=added-columns); null for
-- files of the specified form.
alter table shipment_rows add column added_columns varchar;
