insert into ledger.verification_log select unnest($load_ids::integer[]), $verified_at::timestamp
