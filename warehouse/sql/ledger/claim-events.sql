-- The key of these events, which the ledger has not: two connections that take in one event meet here.
insert into event_keys
select left(sha256(event_id), 32)::uuid
from (select unnest(from_json($event_ids::json, '["VARCHAR"]')) as event_id)
