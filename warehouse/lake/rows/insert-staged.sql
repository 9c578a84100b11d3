insert into lake.main.shipment_rows
select
    $load_id::integer, (rowid + 1)::integer, tenant, invoice_generation_date, ship_date, origin, currency_code, billing_cost,
    billable_weight, billable_weight_unit, tracking_number, carrier, carrier_zone, carrier_invoice_date, service_level
from staged_shipments
