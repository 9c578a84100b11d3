-- After COMMIT: a commit behind a failed statement answers without an error and stores nothing, so we look.
select load_id, sum(is_load)::integer as loads, sum(shipments)::integer as shipments
from (
    select load_id, 1 as is_load, 0 as shipments from loads where load_id between $first::integer and $last::integer
    union all
    select load_id, 0, count(*) from shipment_rows where load_id between $first::integer and $last::integer group by load_id
)
group by load_id
