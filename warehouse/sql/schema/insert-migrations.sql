-- As one statement: of a new warehouse there are fifteen, and each of as many took a millisecond and a half.
insert into schema_migrations
select number, name, $applied_at::timestamp
from (select unnest(from_json($migrations, '[{"number": "INTEGER", "name": "VARCHAR"}]'), max_depth := 2))
