-- Invoices that a workflow should be open for: not loaded yet, or voided by an event that the service was not asked about.
-- PostgreSQL takes it as well, for the ledgers of a lake.
select i.invoice_id::text as invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id
from invoice_state as i
where i.state in ('draft', 'finalized') and coalesce(i.partner_id, $partner_id::text) is not null
order by i.first_heard_at, i.invoice_id
