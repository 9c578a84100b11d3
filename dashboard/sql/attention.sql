-- Invoices that wait for a person, longest first.
select invoice_id, invoice_number, coalesce(tenant, partner_tenant_id) as tenant, reason_code, reason, state_since
from invoices
where state = 'needs_attention'
order by state_since, invoice_number
limit 20
