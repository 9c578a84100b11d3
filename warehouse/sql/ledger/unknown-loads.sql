-- Of the loads that facts tell of, those the warehouse does not have.
select load_id from (select unnest($load_ids::integer[]) as load_id)
anti join loads using (load_id)
order by load_id
