-- Living invoices whose rows contradict their header, newest first.
select invoice_id, invoice_number, tenant, discrepancy_rules, stated_total_amount, billing_cost, currency_code, loaded_at
from invoices
where discrepancies > 0 and state = 'loaded'
order by loaded_at desc, invoice_number
limit 20
