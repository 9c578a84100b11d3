-- When these invoices began and ceased to need a person.
select invoice_id::text as invoice_id, iso(noted_at) as noted_at, is_open, code, reason
from attention_ledger
where invoice_id = any(list($invoice_ids)::uuid[])
