-- A page of deliveries, newest first, test events and refused ones included.
with found as (
    select event_id, received_at, event_type, verdict, reason, is_test_event, invoice_id, invoice_number, duplicates
    from events
    where ($verdict is null or verdict = $verdict)
    and ($type is null or event_type = $type)
    and (
        $search is null
        or starts_with(lower(event_id), lower($search))
        or starts_with(lower(cast(invoice_id as varchar)), lower($search))
        or contains(lower(coalesce(invoice_number, '')), lower($search))
    )
)
select *, (select count(*) from found) as found
from found
order by received_at desc, event_id
limit $limit offset $offset
