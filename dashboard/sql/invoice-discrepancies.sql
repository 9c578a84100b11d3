-- Where two sources differ about one invoice.
select rule, stated, found, recorded_at from discrepancies where cast(invoice_id as varchar) = $invoice order by rule
