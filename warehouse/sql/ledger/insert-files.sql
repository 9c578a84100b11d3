-- Files that were had for an invoice, from a batch of facts.
insert into file_ledger
select recorded_at::timestamp, invoice_id::uuid, file_sha256, file_size_bytes, file_source, came_from
from (select unnest(from_json($facts::json, '[{
    "recorded_at": "VARCHAR", "invoice_id": "VARCHAR", "file_sha256": "VARCHAR", "file_size_bytes": "BIGINT",
    "file_source": "VARCHAR", "came_from": "VARCHAR"}]'), recursive := true))
