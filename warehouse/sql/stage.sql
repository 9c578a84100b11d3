-- First of two steps of a large load: all threads read, check and cast. In autocommit, because only then does rowid
-- start at 0 in the order of the file (inside a transaction it starts at 36028797018960000).
create or replace temp table staged_shipments as
select * from checked_csv($csv_path, $invoice_id, $in_parallel::boolean)
