-- The same as repeated-lines, of the rows that the publication noted, as they are now and of one level.
create temp table if not exists repeated_lines as
select
    carrier,
    tracking_number,
    tenant,
    tenant_id,
    origin,
    carrier_zone,
    zone,
    service_level,
    currency_code,
    report_date,
    billable_weight,
    billable_weight_unit,
    lb_of(billable_weight, billable_weight_unit) as lb
from asked_repeats
