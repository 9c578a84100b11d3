-- title: All invoices for other tools as csv, a folder per month of the invoice date, unknown without one
-- params: the variable folder, where to write
copy (
    select spreadsheet_safe(columns(*))
    from (select * replace (cast(invoice_id as varchar) as invoice_id), coalesce(strftime(invoice_date, '%Y-%m'), 'unknown') as month from invoices)
)
to (getvariable('folder')) (format csv, header true, partition_by (month))
