-- Files that were had for an invoice, from a batch of facts.
insert into file_ledger
select * from json_populate_recordset(null::file_ledger, $facts::json)
