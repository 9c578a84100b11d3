-- As look-at-new-rows.sql, of the rows that were found by their mark: those of new loads, and others.
create or replace temp table looked_at as
select unnest($loads::integer[]) as load_id, unnest($rows::integer[]) as row_number, unnest($marks::uinteger[]) as mark
