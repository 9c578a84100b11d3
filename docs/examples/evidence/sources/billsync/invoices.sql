select invoice_number, tenant, state, reason, discrepancies, invoice_due_date, stated_total_amount, stated_currency_code
from read_parquet('sources/billsync/published/invoices/**/*.parquet', union_by_name = true)
where state = 'needs_attention' or discrepancies > 0
order by all
