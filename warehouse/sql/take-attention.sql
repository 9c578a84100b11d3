-- When invoices began and ceased to need a person, from a batch of facts.
insert into attention_ledger
select noted_at::timestamp, invoice_id::uuid, is_open, code, reason
from (select unnest(from_json($facts::json, '[{
    "noted_at": "VARCHAR", "invoice_id": "VARCHAR", "is_open": "BOOLEAN", "code": "VARCHAR", "reason": "VARCHAR"}]'),
    recursive := true))
