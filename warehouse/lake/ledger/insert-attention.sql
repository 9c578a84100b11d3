-- When invoices began and ceased to need a person, from a batch of facts.
insert into attention_ledger
select * from json_populate_recordset(null::attention_ledger, $facts::json)
