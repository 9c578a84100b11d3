-- Invoices that wait for a person, longest first.
with waiting as (
    select invoice_id, invoice_number, state_since from invoice_state where state = 'needs_attention'
)
select cast(invoice_id as varchar) as invoice_id, (select count(*) from waiting) as found
from waiting
order by state_since, invoice_number, invoice_id
limit 20
