-- The number of each stretch's last row.
select unnest(last_rows())::integer as last_row
