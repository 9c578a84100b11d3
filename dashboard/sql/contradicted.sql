-- Living invoices whose rows contradict their header, newest first. A line that was billed late lies outside of the
-- invoice's period; that is ordinary, asks nothing of a person, and the report late-billed lists such lines.
with contradicted as (
    select invoice_id, invoice_number, loaded_at
    from invoice_state
    where state = 'loaded' and invoice_id in (select invoice_id from discrepancy_lines where rule <> 'period')
)
select cast(invoice_id as varchar) as invoice_id, (select count(*) from contradicted) as found
from contradicted
order by loaded_at desc, invoice_number, invoice_id
limit 20
