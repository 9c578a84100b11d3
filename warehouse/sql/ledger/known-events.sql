-- Which of these events the ledger has, and as what. Their keys are asked first, so that the ledger is read only for those
-- that it has; whoever asks holds the ledger until the insert is committed.
with asked as materialized (
    select event_id, left(sha256(event_id), 32)::uuid as event_mark
    from (select unnest(from_json($event_ids::json, '["VARCHAR"]')) as event_id)
)
select event_id, verdict
from event_ledger
where event_id in (
    select a.event_id
    from asked as a
    join (select event_mark from event_keys where event_mark in (select event_mark from asked)) as k on k.event_mark = a.event_mark
)
