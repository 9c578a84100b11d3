-- The tables behind the views.
select schema_name || '.' || table_name as name
from duckdb_tables()
where not internal and not temporary and database_name = current_database()
order by name
