-- After loads were repeated under the ids they had: ids go on above the highest that was ever told.
select setval('load_ids', greatest($highest::integer, (select coalesce(max(load_id), 1) from loads),
    (select last_value from load_ids))) as load_id
