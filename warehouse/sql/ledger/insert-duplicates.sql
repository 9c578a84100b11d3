-- Deliveries of events that were here already, from a batch of facts.
insert into duplicate_ledger
select recorded_at::timestamp, event_id
from (select unnest(from_json($facts::json, '[{"recorded_at": "VARCHAR", "event_id": "VARCHAR"}]'), recursive := true))
