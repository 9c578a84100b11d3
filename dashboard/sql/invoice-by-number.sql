-- The id of an invoice with this number, in any case; of several the newest.
select cast(invoice_id as varchar) as invoice_id
from invoice_state
where lower(invoice_number) = lower($number)
order by state_since desc
limit 1
