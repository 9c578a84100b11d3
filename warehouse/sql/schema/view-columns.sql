-- The columns of the views that readers open.
select c.table_name as view, c.column_name as column
from duckdb_columns() as c
join duckdb_views() as v on v.database_oid = c.database_oid and v.schema_oid = c.schema_oid and v.view_name = c.table_name
where not v.internal and not v.temporary and c.database_name = current_database() and c.schema_name = 'main'
order by c.table_name, c.column_index
