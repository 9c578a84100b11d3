-- The rows that did not count at an instant because their invoice was void then.
create or replace macro voided_shipments_as_known_on(known_on) as table
select
    r.tenant, i.tenant_id, i.partner_tenant_id, i.invoice_id, i.invoice_number,
    coalesce(i.invoice_level, 'unknown') as invoice_level,
    {{r.cells but tenant}}, r.row_number, l.file_sha256,
    l.loaded_at at time zone 'UTC' as loaded_at, r.added_columns, i.partner_id,
    c.voided_at at time zone 'UTC' as voided_at
from internal.shipment_rows as r
join internal.loads as l on l.load_id = r.load_id
join loads_as_known_on(known_on) as c on c.load_id = r.load_id
join internal.owned_invoices as i on i.invoice_id = c.invoice_id
where c.voided_at is not null;
