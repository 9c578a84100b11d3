-- title: All billed shipments for other tools as csv, a folder per month of the ship date
-- params: the variable folder, where to write
copy (
    select spreadsheet_safe(columns(*))
    from (select *, strftime(ship_date, '%Y-%m') as month from shipments)
)
to (getvariable('folder')) (format csv, header true, partition_by (month), write_partition_columns true)
