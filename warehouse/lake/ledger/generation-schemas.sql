-- Schemas of all generations that are there, the lake's own and the ledgers'.
select nspname as schema, substring(nspname from '[0-9]+$')::integer as generation
from pg_namespace
where nspname ~ '^billsync_(lake_)?[0-9]+$'
order by 1
