-- All that is known of one invoice, by id.
select i.*, coalesce(i.tenant, t.tenant, i.partner_tenant_id) as tenant_name
from invoices as i
left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
where cast(i.invoice_id as varchar) = $invoice
