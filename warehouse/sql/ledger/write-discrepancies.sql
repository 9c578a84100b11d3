-- Derived with the invoice's row and replaced with it.
insert into discrepancy_lines
select invoice_id::uuid, rule, stated, found, file_sha256, event_id, recorded_at::timestamp
from (select unnest(from_json($discrepancies::json, '[{
    "invoice_id": "VARCHAR", "rule": "VARCHAR", "stated": "VARCHAR", "found": "VARCHAR", "file_sha256": "VARCHAR",
    "event_id": "VARCHAR", "recorded_at": "VARCHAR"}]'), recursive := true))
