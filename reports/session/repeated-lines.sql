-- The lines whose carrier and tracking number may stand on another line as well. They are few, so that packages (distinct
-- tracking numbers of a carrier) are exact and cheap: the lines of a group, less those here that repeat a number within it. A
-- short mark finds them; unlike numbers that share one are here too, which changes no count. Kept as long as the filters are.
create temp table if not exists repeated_lines as
with
sorted as (
    select mark, lag(mark) over (order by mark) as mark_before
    from (select mark_of(tracking_number) as mark from selected_shipments)
),
repeated as (
    select distinct mark from sorted where mark = mark_before
)
select
    s.carrier, s.tracking_number, s.tenant, s.tenant_id, s.origin, s.carrier_zone, s.zone, s.service_level,
    s.currency_code, s.report_date, s.billable_weight, s.billable_weight_unit,
    lb_of(s.billable_weight, s.billable_weight_unit) as lb
from selected_shipments as s
semi join repeated as r on r.mark = mark_of(s.tracking_number)
