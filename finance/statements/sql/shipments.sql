-- The lines of one tenant's statement, in the order of its invoices.
select
    invoice_number,
    invoice_generation_date,
    ship_date,
    carrier,
    service_level,
    carrier_zone,
    origin,
    tracking_number,
    kind,
    currency_code,
    billing_cost,
    billable_weight,
    billable_weight_unit,
    row_number,
    cast(invoice_id as varchar) as invoice_id,
    file_sha256
from statement_lines
where report_date >= cast($from as date) and report_date <= cast($to as date)
and tenant = $tenant and tenant_id is not distinct from $tenant_id and partner_id is not distinct from $partner_id
order by invoice_number, invoice_id, row_number
limit $limit
