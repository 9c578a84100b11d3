-- title: What was received, newest first, duplicates counted, test events and refused ones included
-- grain: event
-- params: each null means all; $since is an instant
select event_id, received_at, event_type, verdict, reason, is_test_event, duplicates, invoice_id, invoice_number,
    tenant_id, partner_tenant_id, event_timestamp
from events
where ($since::varchar is null or received_at >= $since::timestamptz)
    and ($invoice::varchar is null or invoice_id::varchar = lower($invoice::varchar) or invoice_number = $invoice::varchar)
    and ($type::varchar is null or event_type = $type::varchar)
    and ($verdict::varchar is null or verdict = $verdict::varchar)
order by received_at desc, event_id
