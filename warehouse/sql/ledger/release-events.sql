-- Deliveries that were refused and are not any more leave the ledger, to be taken again as what they are now. Deleted
-- and inserted, never updated (forget-states.sql says why).
delete from event_ledger
where verdict = 'quarantined' and event_id in (
    select event_id
    from (select unnest(from_json($events::json, '[{"event_id": "VARCHAR", "verdict": "VARCHAR"}]'), recursive := true))
    where verdict <> 'quarantined'
)
