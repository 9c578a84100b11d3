-- Invoices that a workflow should be open for: not loaded yet, voided by an event that the service was not asked about, or
-- with a file that broke a rule and that the service may repair. PostgreSQL takes it as well, for the ledgers of a lake.
select i.invoice_id::text as invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id
from invoice_state as i
where (
    i.state in ('draft', 'finalized')
    or ($confirm_voids::boolean and i.state = 'voided' and i.void_word = 'event')
    or (i.state = 'needs_attention' and i.reason_code = 'csv-rejected')
)
and coalesce(i.partner_id, $partner_id::text) is not null
order by i.first_heard_at, i.invoice_id
