-- The invoices a report about invoices counts: those that pass the filters, of one level.
create or replace temp view selected_invoices as
select * from filtered_invoices where list_contains(cast(getvariable('levels') as varchar[]), invoice_level)
