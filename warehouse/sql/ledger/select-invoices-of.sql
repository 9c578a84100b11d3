-- select-invoices.sql for some invoices, past the view: who asks for one asks often, and the view's sums cost more than its row.
-- They are found first, and only their loads are read. PostgreSQL takes it as well, for the ledgers of a lake.
with asked as materialized (
    select * from invoice_state where invoice_id in (select unnest(string_to_array($invoice_ids, ','))::uuid)
)
select
    i.invoice_id::text as invoice_id, i.partner_id, i.invoice_number, i.partner_invoice_id, i.invoice_level, i.tenant_id,
    i.partner_tenant_id, i.service_status, i.invoice_start_date, i.invoice_end_date, i.invoice_date, i.invoice_due_date,
    i.currency_code, i.stated_total, i.stated_shipments::float8 as stated_shipments,
    i.void_word, iso(i.restored_at) as restored_at, i.state, i.reason_code, i.reason, iso(i.state_since) as state_since, iso(i.first_heard_at) as first_heard_at,
    l.file_sha256, l.version, l.shipments::float8 as shipments, l.billing_cost::text as billing_cost
from asked as i
left join (select * from loads where load_id in (select current_load_id from asked)) as l on l.load_id = i.current_load_id
