-- The same as selected-shipments.sql, with weights as the file of --weights says that each carrier rates them.
create or replace temp view selected_shipments as
select s.*, w.rated
from filtered_shipments as s
left join rated_weights as w
    on w.carrier = s.carrier and w.billable_weight = s.billable_weight and w.billable_weight_unit = s.billable_weight_unit
where list_contains(cast(getvariable('levels') as varchar[]), s.level)
