-- Which of these invoices have a row, and whether discrepancies are recorded for them.
select
    s.invoice_id::text as invoice_id,
    exists (select 1 from discrepancy_lines as d where d.invoice_id = s.invoice_id) as has_discrepancies
from invoice_state as s
where s.invoice_id = any(list($invoice_ids)::uuid[])
