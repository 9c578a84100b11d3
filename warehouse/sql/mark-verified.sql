insert into verification_log select unnest($load_ids::integer[]), $verified_at::timestamp
