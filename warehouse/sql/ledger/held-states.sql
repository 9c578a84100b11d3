-- Which of these invoices have a row, what it was made of, and whether discrepancies are recorded for them. Where it lies holds
-- until the transaction ends.
select
    s.rowid::varchar as place,
    s.invoice_id::varchar as invoice_id, iso(s.first_heard_at) as first_heard_at, s.versions > 0 as has_loads,
    coalesce(s.notes, 1) > 0 as has_attention,
    s.invoice_id in (select d.invoice_id from discrepancy_lines as d) as has_discrepancies
from invoice_state as s
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = s.invoice_id
