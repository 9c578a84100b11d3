-- Which of these invoices have a row, what it was made of, and whether discrepancies are recorded for them.
select
    s.invoice_id::text as invoice_id, iso(s.first_seen_at) as first_seen_at, s.versions > 0 as has_loads,
    coalesce(s.attention_lines, 1) > 0 as has_attention,
    exists (select 1 from discrepancy_lines as d where d.invoice_id = s.invoice_id) as has_discrepancies
from invoice_state as s
where s.invoice_id = any(list($invoice_ids)::uuid[])
