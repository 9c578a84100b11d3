select pg_advisory_unlock($class::integer, $key::integer)
