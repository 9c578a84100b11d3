-- Whether there is anything to do for a file: cheap, asked before the transaction, which asks again.
select
    exists (select 1 from invoice_state where invoice_id = $invoice_id::uuid and voided_at is not null) as is_voided,
    exists (select 1 from loads where invoice_id = $invoice_id::uuid and file_sha256 = $file_sha256) as is_loaded
