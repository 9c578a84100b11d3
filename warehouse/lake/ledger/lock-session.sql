-- Until it is given back or the connection ends.
select pg_advisory_lock($class::integer, $key::integer)
