-- The lines with a tracking number, of every level, that stand in invoices which count now.
select
    cast(invoice_id as varchar) as invoice_id, invoice_number, tenant, invoice_level, ship_date, carrier, service_level,
    carrier_zone, tracking_number, billing_cost, currency_code, row_number
from shipments
where tracking_number in ($words, $letters)
order by ship_date, invoice_id, row_number
limit 200
