-- title: All billed shipments for other tools as parquet, a folder per month of the ship date
-- params: the variable folder, where to write
copy (select * replace (cast(invoice_id as varchar) as invoice_id), strftime(ship_date, '%Y-%m') as month from shipments)
to (getvariable('folder')) (
    format parquet, compression zstd, partition_by (month),
    kv_metadata {billsync_month: 'of ship_date', billsync_instants: 'UTC'}
)
