-- Where two sources of the service differ. Refused files are in quarantine, not here.
create or replace view discrepancies as
select d.invoice_id, i.invoice_number, d.rule, d.stated, d.found, d.file_sha256, d.event_id,
    d.recorded_at at time zone 'UTC' as recorded_at, i.partner_id
from internal.discrepancy_lines as d
join internal.owned_invoices as i on i.invoice_id = d.invoice_id;
