-- Until the transaction ends, if nobody has it.
select pg_try_advisory_xact_lock($class::integer, $key::integer) as is_mine
