-- title: What was received about one invoice, in order of arrival
-- grain: event
select event_id, received_at, event_type, verdict, reason, is_test_event, duplicates, event_timestamp, announced_sha256
from events
where invoice_id::varchar = $invoice
order by received_at, event_id
