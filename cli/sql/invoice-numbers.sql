-- title: The numbers of all invoices, for what was named by one or misspelt
-- grain: invoice
select invoice_number, cast(invoice_id as varchar) as invoice_id
from invoices
where invoice_number is not null
order by first_seen_at, invoice_id
