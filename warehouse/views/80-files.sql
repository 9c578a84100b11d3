-- A row per file and invoice, with the source of the file and its load.
create or replace view files as
select
    coalesce(f.file_sha256, l.file_sha256) as file_sha256,
    coalesce(f.invoice_id, l.invoice_id) as invoice_id,
    coalesce(f.file_size_bytes, l.file_size_bytes) as file_size_bytes,
    coalesce(f.file_source, l.file_source) as file_source,
    f.came_from,
    coalesce(f.first_had_at, l.loaded_at) at time zone 'UTC' as first_had_at,
    coalesce(f.times_had, 0) as times_had,
    l.load_id, l.version, l.shipments, l.billing_cost, l.currency_code, l.loaded_at at time zone 'UTC' as loaded_at,
    coalesce(i.current_load_id = l.load_id, false) as is_current, i.partner_id
from (
    select file_sha256, invoice_id, any_value(file_size_bytes) as file_size_bytes,
        arg_min(file_source, recorded_at) as file_source, arg_min(came_from, recorded_at) as came_from,
        min(recorded_at) as first_had_at, count(*) as times_had
    from internal.file_ledger
    group by file_sha256, invoice_id
) as f
full join internal.loads as l on l.file_sha256 = f.file_sha256 and l.invoice_id = f.invoice_id
left join internal.owned_invoices as i on i.invoice_id = coalesce(f.invoice_id, l.invoice_id);
