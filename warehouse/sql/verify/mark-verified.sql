-- Once per load: a proof that is repeated every week must not grow the file for ever.
insert into verification_log
select load_id, $verified_at::timestamp
from (select unnest($load_ids::integer[]) as load_id)
where load_id not in (select load_id from verification_log)
