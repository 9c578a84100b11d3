delete from marked_rows
