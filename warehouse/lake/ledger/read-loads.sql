-- The versions of these invoices that were loaded since an instant.
select
    invoice_id::text as invoice_id, load_id, version, file_source, file_sha256, announced_sha256, encoded_sha256,
    coalesce(is_denied, false) as is_denied, coalesce(is_damaged, false) as is_damaged,
    file_size_bytes::float8 as file_size_bytes, shipments::float8 as shipments,
    billing_cost::text as billing_cost, currency_code, currencies, first_ship_date::text as first_ship_date,
    last_ship_date::text as last_ship_date, ends_with_line_end, iso(loaded_at) as loaded_at
from loads
where invoice_id = any(list($invoice_ids)::uuid[]) and loaded_at >= $since::timestamp
order by load_id
