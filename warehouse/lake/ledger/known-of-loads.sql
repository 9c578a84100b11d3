-- Of these loads, those that count.
select load_id from loads where load_id = any(list($load_ids)::integer[])
