-- title: One event as the ledger knows it
-- grain: event
select *
from events
where event_id = $event
