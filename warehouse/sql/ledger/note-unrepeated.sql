-- From where on facts tell of loads that are missing here: noted before the place in the archive moves on, so that a start that
-- dies before it has repeated them is made good by the next. For DuckDB and PostgreSQL alike.
insert into ingest_cursors (stream, position)
select 'loads', $position::text
where not exists (select 1 from ingest_cursors where stream = 'loads')
