-- The partners of the file; null is an invoice of which none is known.
select partner_id, partner from main.partners order by partner_id nulls last
