-- Deliveries that were refused and are not any more leave the ledger, to be taken again as what they are now.
delete from event_ledger
where verdict = 'quarantined' and event_id in (
    select event_id
    from json_to_recordset($events::json) as told (event_id text, verdict text)
    where verdict <> 'quarantined'
)
