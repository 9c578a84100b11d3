-- When invoices began and ceased to need a person, and what else is noted of them, from a batch of facts.
insert into attention_ledger
select recorded_at::timestamp, invoice_id::uuid, is_open, code, reason, kind, told_by, file_sha256, counts_from::timestamp
from (select unnest(from_json($facts::json, '[{
    "recorded_at": "VARCHAR", "invoice_id": "VARCHAR", "is_open": "BOOLEAN", "code": "VARCHAR", "reason": "VARCHAR",
    "kind": "VARCHAR", "told_by": "VARCHAR", "file_sha256": "VARCHAR", "counts_from": "VARCHAR"}]'), recursive := true))
