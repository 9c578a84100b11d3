-- The number of each chunk's last row.
select unnest(last_rows())::integer as last_row
