-- The tables behind the views, which lie beside them.
select table_name as name
from duckdb_tables()
where not internal and not temporary and database_name = current_database() and schema_name = 'main'
order by table_name
