-- The rows of the first loads, as they lie in their table.
select coalesce(sum(shipments), 0)::double as rows from loads where rowid < $loads::bigint
