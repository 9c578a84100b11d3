-- Once per record: who asks is told which of them nobody knew of. For DuckDB and PostgreSQL alike.
insert into set_aside (place, recorded_at, why)
select $place::varchar, $recorded_at::timestamp, $why::varchar
where not exists (select 1 from set_aside where place = $place::varchar)
returning place
