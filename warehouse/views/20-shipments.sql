-- A row per billed shipment of finalized, not voided invoices.
create or replace view shipments as
select
    r.tenant, i.tenant_id, i.partner_tenant_id, i.invoice_id, i.invoice_number,
    coalesce(i.invoice_level, 'unknown') as invoice_level,
    {{r.cells but tenant}}, r.row_number, l.file_sha256,
    l.loaded_at at time zone 'UTC' as loaded_at, r.added_columns, i.partner_id
from internal.shipment_rows as r
join internal.loads as l on l.load_id = r.load_id
join internal.owned_invoices as i on i.current_load_id = r.load_id
where i.voided_at is null;
