-- title: All that is known of one invoice, by its id or its number
-- grain: invoice (a number may belong to several)
select *
from invoices
where invoice_id::varchar = lower($invoice) or invoice_number = $invoice
order by first_heard_at
