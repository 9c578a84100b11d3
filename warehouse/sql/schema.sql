-- name: create-migrations
-- For DuckDB and PostgreSQL.
create table if not exists schema_migrations (number integer not null, name varchar not null, applied_at timestamp not null)

-- name: insert-migration
-- For DuckDB and PostgreSQL.
insert into schema_migrations values ($number::integer, $name, $applied_at::timestamp)

-- name: internal-tables
select schema_name || '.' || table_name as name
from duckdb_tables()
where not internal and not temporary and database_name = current_database()
order by name

-- name: migration-number
select coalesce(max(number), 0)::integer as found from schema_migrations

-- name: session
-- Temporary, so that the published file does not contain it.

create or replace temp macro iso(instant) as strftime(instant, '%Y-%m-%dT%H:%M:%S.%gZ');
create or replace temp macro day_of(stated) as try_cast(left(stated, 10) as timestamp);

-- name: view-columns
select c.table_name as view, c.column_name as column
from duckdb_columns() as c
join duckdb_views() as v on v.database_oid = c.database_oid and v.schema_oid = c.schema_oid and v.view_name = c.table_name
where not v.internal and not v.temporary and c.database_name = current_database() and c.schema_name = 'main'
order by c.table_name, c.column_index
