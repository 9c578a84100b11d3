-- Before the rows are inserted as they are now, as over one file.
delete from invoice_state where invoice_id = any(list($invoice_ids)::uuid[])
