-- title: The numbers of all invoices, for what was misspelt
-- grain: number
select distinct invoice_number from invoices where invoice_number is not null
