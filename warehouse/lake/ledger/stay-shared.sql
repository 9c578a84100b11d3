-- A writer says that it is there, for as long as its connection lives.
select pg_advisory_lock_shared($class::integer, $key::integer)
