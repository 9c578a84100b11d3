-- title: All billed shipments for other tools as parquet, a folder per month of the ship date
-- params: the variable folder, where to write
copy (select *, strftime(ship_date, '%Y-%m') as month from shipments)
to (getvariable('folder')) (
    format parquet, compression zstd, partition_by (month), write_partition_columns true,
    kv_metadata {billsync_month: 'of ship_date', billsync_instants: 'UTC'}
)
