-- title: All billed shipments for other tools as csv, a folder per month of the ship date
-- params: the variable folder, where to write
copy (
    select spreadsheet_safe(columns(*))
    from (select * replace (cast(invoice_id as varchar) as invoice_id), strftime(ship_date, '%Y-%m') as month from shipments)
)
to (getvariable('folder')) (format csv, header true, partition_by (month))
