-- Invoices that wait for a person, longest first.
select invoice_id, invoice_number, coalesce(i.tenant, t.tenant, i.partner_tenant_id) as tenant, reason_code, reason, state_since,
    count(*) over () as found
from invoices as i
left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
where state = 'needs_attention'
order by state_since, invoice_number
limit 20
