-- From here on the load counts, once the transaction commits.
insert into loads (
    load_id, invoice_id, version, file_sha256, file_size_bytes, file_source, announced_sha256, event_id, workflow_run_id,
    tenant, shipments, billing_cost, currency_code, currencies, first_ship_date, last_ship_date, ends_with_line_end, loaded_at,
    encoded_sha256
)
values (
    $load_id::integer, $invoice_id::uuid, $version::integer, $file_sha256, $file_size_bytes::bigint, $file_source,
    $announced_sha256, $event_id, $workflow_run_id, $tenant, $shipments::bigint, $billing_cost::numeric(38, 4),
    $currency_code, $currencies, $first_ship_date::date, $last_ship_date::date, $ends_with_line_end::boolean,
    $loaded_at::timestamp, $encoded_sha256
)
