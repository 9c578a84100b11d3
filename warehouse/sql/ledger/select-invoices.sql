-- Invoices as the warehouse knows them, oldest first; an empty list of states means all.
select
    invoice_id::varchar as invoice_id, i.partner_id, v.invoice_number, v.partner_invoice_id, i.invoice_level, v.tenant_id,
    v.partner_tenant_id, v.service_status, i.invoice_start_date, i.invoice_end_date, i.invoice_date, i.invoice_due_date,
    i.currency_code, i.stated_total, i.stated_shipments::double as stated_shipments,
    i.void_word, iso(i.restored_at) as restored_at, v.state, v.reason_code, v.reason, iso(v.state_since) as state_since, iso(v.first_heard_at) as first_heard_at,
    v.file_sha256, v.version, v.shipments::double as shipments, v.billing_cost::varchar as billing_cost
from invoices as v
join invoice_state as i using (invoice_id)
where (len($states::varchar[]) = 0 or list_contains($states::varchar[], v.state))
order by v.first_heard_at, invoice_id
