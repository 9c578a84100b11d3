-- The first lines of an invoice that counts, as its file has them.
select row_number, tracking_number, ship_date, carrier, service_level, carrier_zone, billing_cost, currency_code
from shipments
where invoice_id = try_cast($invoice as uuid)
order by row_number
limit $limit
