-- Loads of staged files that have a row which breaks a rule.
select distinct load_id from staged_rows where not row_is_good
