-- Until the transaction ends, one holder at a time.
select pg_advisory_xact_lock($class::integer, $key::integer)
