-- The versions of these invoices that were loaded since an instant.
select
    l.invoice_id::varchar as invoice_id, load_id, version, file_source, file_sha256, announced_sha256, encoded_sha256,
    coalesce(is_denied, false) as is_denied, coalesce(is_damaged, false) as is_damaged,
    file_size_bytes::double as file_size_bytes, shipments::double as shipments,
    billing_cost::varchar as billing_cost, currency_code, currencies, first_ship_date::varchar as first_ship_date,
    last_ship_date::varchar as last_ship_date, ends_with_line_end, iso(loaded_at) as loaded_at
from loads as l
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = l.invoice_id
where loaded_at >= $since::timestamp
