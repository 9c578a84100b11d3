-- The partners of the file; null is an invoice of which none is known.
select distinct partner_id, null as partner from invoice_state order by partner_id nulls last
