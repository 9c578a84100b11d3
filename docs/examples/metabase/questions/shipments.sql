-- The lines behind a number. Table; the target of clicks on the other charts, with the value of the bar as filter.
select
    ship_date, tenant, carrier, service_level, zone, origin, tracking_number, billable_weight, billable_weight_unit,
    currency_code, billing_cost, invoice_number, row_number
from tenant_shipments
where true
    [[and tracking_number = {{tracking_number}}]]
    [[and carrier = {{carrier}}]]
    [[and tenant = {{tenant}}]]
    [[and ship_date >= {{from}}]]
    [[and ship_date <= {{to}}]]
order by billing_cost desc, tracking_number, row_number
limit 2000
