-- title: All invoices for other tools as parquet, a folder per month of the invoice date, unknown without one
-- params: the variable folder, where to write
copy (select * replace (cast(invoice_id as varchar) as invoice_id), coalesce(strftime(invoice_date, '%Y-%m'), 'unknown') as month from invoices)
to (getvariable('folder')) (
    format parquet, compression zstd, partition_by (month),
    kv_metadata {billsync_month: 'of invoice_date', billsync_instants: 'UTC'}
)
