-- Of these files those that there is nothing to do for: cheap, asked before the transaction, which asks again.
select a.invoice_id::text as invoice_id, a.file_sha256, i.voided_at is not null as is_voided
from json_to_recordset($files::json) as a(invoice_id uuid, file_sha256 text)
left join invoice_state as i on i.invoice_id = a.invoice_id
left join loads as l on l.invoice_id = a.invoice_id and l.file_sha256 = a.file_sha256
where i.voided_at is not null or l.load_id is not null
