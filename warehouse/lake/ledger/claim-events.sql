-- Nothing to claim: the key of event_ledger itself is what two writers meet at.
select 1 where $event_ids::text is null
