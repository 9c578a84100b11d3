-- Deliveries of events that were here already, from a batch of facts.
insert into duplicate_ledger
select * from json_populate_recordset(null::duplicate_ledger, $facts::json)
