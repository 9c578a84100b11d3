insert into loads
values (
    $load_id::integer, $invoice_id::uuid, $version::integer, $file_sha256, $file_size_bytes::bigint, $file_source,
    $announced_sha256, $event_id, $workflow_run_id, $tenant, $shipments::bigint, $billing_cost::decimal(38, 4),
    $currency_code, $currencies, $first_ship_date::date, $last_ship_date::date, $ends_with_line_end::boolean,
    $loaded_at::timestamp, $encoded_sha256
)
