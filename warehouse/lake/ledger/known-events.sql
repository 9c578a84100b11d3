-- Which of these events the ledger has, and as what.
select event_id, verdict from event_ledger where event_id in (select json_array_elements_text($event_ids::json))
