-- Derived with the invoice's row and replaced with it.
insert into discrepancy_lines
select * from json_populate_recordset(null::discrepancy_lines, $discrepancies::json)
