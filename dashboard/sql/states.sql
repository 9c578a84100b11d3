-- How many invoices stand where, for the overview.
select state, count(*) as invoices from invoice_state group by state order by state
