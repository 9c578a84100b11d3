-- The rows of --rates that fit a loaded line above zero, whether or not another row fits it better (see rated-cells.sql), whatever the filters.
create or replace temp view matched_rows as
with places as (
    select distinct
        lower(carrier) as carrier,
        lower(service_level) as service_level,
        zone,
        currency_code,
        exact_weight(billable_weight, billable_weight_unit) as exact,
        rate_day(report_date) as day
    from loaded_shipments
    where billing_cost > 0
)
select distinct r.line
from places as p
join rates as r
    on r.currency_code = p.currency_code
    and (r.from_lb is null or p.exact > exact_weight(r.from_lb, coalesce(r.unit, 'lb')))
    and (r.to_lb is null or p.exact <= exact_weight(r.to_lb, coalesce(r.unit, 'lb')))
    and (r.carrier is null or lower(r.carrier) = p.carrier)
    and (r.service_level is null or lower(r.service_level) = p.service_level)
    and (r.zone is null or normal_zone(r.zone) = p.zone)
    and (r.valid_from is null or p.day >= r.valid_from)
    and (r.valid_to is null or p.day < r.valid_to)
