-- Every column that readers of reports.duckdb see, in its view's order.
select c.table_name as view, c.column_name as name, c.data_type as type
from duckdb_columns() as c
join duckdb_views() as v on v.view_oid = c.table_oid and not v.internal
where not c.internal and c.schema_name = 'main'
order by c.table_name, c.column_index
