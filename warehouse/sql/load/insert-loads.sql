-- From here on the loads count, once the transaction commits.
insert into loads
select
    load_id, invoice_id::uuid, version, file_sha256, file_size_bytes, file_source, announced_sha256, event_id, workflow_run_id,
    tenant, shipments, billing_cost::decimal(38, 4), currency_code, currencies, first_ship_date::date, last_ship_date::date,
    ends_with_line_end, loaded_at::timestamp, encoded_sha256, is_denied, is_damaged
from (
    select unnest(from_json($loads::json, '[{
        "load_id": "INTEGER", "invoice_id": "VARCHAR", "version": "INTEGER", "file_sha256": "VARCHAR",
        "file_size_bytes": "BIGINT", "file_source": "VARCHAR", "announced_sha256": "VARCHAR", "event_id": "VARCHAR",
        "workflow_run_id": "VARCHAR", "tenant": "VARCHAR", "shipments": "BIGINT", "billing_cost": "VARCHAR",
        "currency_code": "VARCHAR", "currencies": "VARCHAR", "first_ship_date": "VARCHAR", "last_ship_date": "VARCHAR",
        "ends_with_line_end": "BOOLEAN", "loaded_at": "VARCHAR", "encoded_sha256": "VARCHAR",
        "is_denied": "BOOLEAN", "is_damaged": "BOOLEAN"}]'), recursive := true)
)
order by load_id
