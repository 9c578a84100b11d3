-- Which of these events the ledger has, and as what. Asked before the insert, whose plan costs three times as much when it
-- has to look for conflicts itself; whoever asks holds the ledger until the insert is committed.
select event_id, verdict
from event_ledger
where event_id in (select unnest(from_json($event_ids::json, '["VARCHAR"]')))
