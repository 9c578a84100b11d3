-- From here on the loads count, once the transaction commits.
insert into loads (
    load_id, invoice_id, version, file_sha256, file_size_bytes, file_source, announced_sha256, event_id, workflow_run_id,
    tenant, shipments, billing_cost, currency_code, currencies, first_ship_date, last_ship_date, ends_with_line_end, loaded_at,
    encoded_sha256, is_denied, is_damaged
)
select
    load_id, invoice_id, version, file_sha256, file_size_bytes, file_source, announced_sha256, event_id, workflow_run_id,
    tenant, shipments, billing_cost, currency_code, currencies, first_ship_date, last_ship_date, ends_with_line_end, loaded_at,
    encoded_sha256, is_denied, is_damaged
from json_populate_recordset(null::loads, $loads::json)
order by load_id
