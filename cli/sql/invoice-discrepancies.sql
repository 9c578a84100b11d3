-- title: Where two honest sources differ about one invoice
-- grain: discrepancy
select rule, stated, found, file_sha256, event_id, recorded_at
from discrepancies
where invoice_id::varchar = $invoice
order by rule, recorded_at
