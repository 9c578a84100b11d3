-- One currency of an amount, one unit of a weight, one spelling of a zone: what the models behind this one sum.
select
    invoice_id,
    row_number,
    invoice_number,
    partner_id,
    tenant_id,
    tenant,
    carrier,
    service_level,
    zone,
    origin,
    ship_date,
    cast(date_trunc('month', ship_date) as date) as ship_month,
    tracking_number,
    is_package,
    currency_code,
    billing_cost,
    pounds
from {{ source('billsync', 'tenant_shipments') }}
