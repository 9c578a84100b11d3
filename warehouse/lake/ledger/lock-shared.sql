-- Until the transaction ends, many holders, none of whom holds it alone.
select pg_advisory_xact_lock_shared($class::integer, $key::integer)
