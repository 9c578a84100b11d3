-- When these invoices began and ceased to need a person, and what else is noted of them, since an instant.
select a.invoice_id::varchar as invoice_id, iso(recorded_at) as recorded_at, is_open, code, reason, kind,
    told_by, file_sha256, iso(counts_from) as counts_from
from attention_ledger as a
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = a.invoice_id
where recorded_at >= $since::timestamp
