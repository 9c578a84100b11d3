-- The same as repeated-lines, of the rows that the publication noted, as they are now and of one level.
create temp table if not exists repeated_lines as
select
    carrier,
    tracking_number,
    tenant,
    tenant_id,
    origin,
    carrier_zone,
    normal_zone(carrier_zone) as zone,
    service_level,
    currency_code,
    case when getvariable('date_basis') = 'invoice-date' then invoice_generation_date else ship_date end as report_date,
    billable_weight,
    billable_weight_unit,
    lb_of(billable_weight, billable_weight_unit) as lb
from asked_repeats
