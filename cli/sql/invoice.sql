-- title: All that is known of one invoice, by its id or its number
-- grain: invoice (a number may belong to several)
select i.* replace (coalesce(i.tenant, t.tenant, i.partner_tenant_id, i.tenant_id) as tenant)
from invoices as i
left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
where i.invoice_id::varchar = lower($invoice) or i.invoice_number = $invoice
order by i.first_seen_at
