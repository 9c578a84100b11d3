-- The cells of the shipments that stand on a page.
select
    s.tenant,
    s.invoice_number,
    s.ship_date,
    s.carrier,
    s.service_level,
    s.carrier_zone,
    s.origin,
    s.tracking_number,
    s.currency_code,
    s.billing_cost,
    s.billable_weight,
    s.billable_weight_unit,
    s.zone,
    s.invoice_generation_date,
    s.carrier_invoice_date,
    s.invoice_level,
    s.invoice_id,
    s.row_number,
    s.tenant_id,
    s.partner_tenant_id,
    s.file_sha256,
    s.loaded_at,
    s.partner_id
from selected_shipments as s
where {{on_page}}
