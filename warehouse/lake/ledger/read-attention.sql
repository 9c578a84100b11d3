-- When these invoices began and ceased to need a person, and what else is noted of them, since an instant.
select invoice_id::text as invoice_id, iso(recorded_at) as recorded_at, is_open, code, reason, kind, decided_by, file_sha256,
    iso(counts_from) as counts_from
from attention_ledger
where invoice_id = any(list($invoice_ids)::uuid[]) and recorded_at >= $since::timestamp
