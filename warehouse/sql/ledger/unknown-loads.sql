-- Of the loads that facts tell of, those the warehouse does not have. Only ids between theirs are read.
select load_id from (select unnest($load_ids::integer[]) as load_id)
anti join (
    select load_id from loads where load_id between list_min($load_ids::integer[]) and list_max($load_ids::integer[])
) using (load_id)
order by load_id
