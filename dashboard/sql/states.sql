-- How many invoices stand where, and what they state, for the overview.
select state, count(*) as invoices from invoices group by state order by state
