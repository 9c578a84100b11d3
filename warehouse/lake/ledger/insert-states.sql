-- Rows of invoices that had none, as derive-invoice.ts made them from the ledgers.
insert into invoice_state
select * from json_populate_recordset(null::invoice_state, $states::json)
