-- All rows of all versions, voided invoices included. Not safe to sum.
create or replace view shipment_versions as
select
    r.tenant, i.tenant_id, i.partner_tenant_id, i.invoice_id, i.invoice_number,
    coalesce(i.invoice_level, 'unknown') as invoice_level,
    {{r.cells but tenant}}, r.row_number, l.file_sha256,
    l.loaded_at at time zone 'UTC' as loaded_at, r.added_columns, l.version, l.load_id,
    coalesce(i.current_load_id = l.load_id, false) as is_current,
    i.voided_at at time zone 'UTC' as voided_at, i.partner_id
from internal.shipment_rows as r
join internal.loads as l on l.load_id = r.load_id
join internal.owned_invoices as i on i.invoice_id = l.invoice_id;
