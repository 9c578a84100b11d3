-- Invoices that need attention or differ from their lines. Table.
select invoice_number, coalesce(tenant, 'unknown') as tenant, state, reason, discrepancy_rules, state_since
from invoices
where state = 'needs_attention' or (state = 'loaded' and discrepancies > 0)
order by state_since
