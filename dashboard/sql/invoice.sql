-- All that is known of one invoice, by id.
select *, coalesce(tenant, partner_tenant_id) as tenant_name from invoices where cast(invoice_id as varchar) = $invoice
