-- What the details endpoint answered, from a batch of facts.
insert into details_ledger
select * from json_populate_recordset(null::details_ledger, $facts::json)
