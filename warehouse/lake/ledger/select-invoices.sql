-- Invoices as the warehouse knows them, oldest first; an empty list of states means all.
select
    i.invoice_id::text as invoice_id, i.partner_id, i.invoice_number, i.partner_invoice_id, i.invoice_level, i.tenant_id,
    i.partner_tenant_id, i.service_status, i.invoice_start_date, i.invoice_end_date, i.invoice_date, i.invoice_due_date,
    i.currency_code, i.stated_total, i.stated_shipments::float8 as stated_shipments,
    i.void_basis, iso(i.restored_at) as restored_at, i.state, i.reason_code, i.reason, iso(i.state_since) as state_since, iso(i.first_seen_at) as first_seen_at,
    l.file_sha256, l.version, l.shipments::float8 as shipments, l.billing_cost::text as billing_cost
from invoice_state as i
left join loads as l on l.load_id = i.current_load_id
where (list($states) is null or i.state = any(list($states)))
order by i.first_seen_at, i.invoice_id
