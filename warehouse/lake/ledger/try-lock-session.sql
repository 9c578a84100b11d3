-- Whether nobody else is there; until the connection ends.
select pg_try_advisory_lock($class::integer, $key::integer) as is_mine
