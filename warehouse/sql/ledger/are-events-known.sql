-- A row if the ledger has one of these events, as their keys say: it is read only then (known-events.sql).
select 1
from event_keys
where event_mark in (
    select left(sha256(event_id), 32)::uuid
    from (select unnest(from_json($event_ids::json, '["VARCHAR"]')) as event_id)
)
limit 1
