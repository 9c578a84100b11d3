-- One transaction at a time per invoice, whatever process it is in; in one order, so that two never wait for each other.
select pg_advisory_xact_lock(hashtextextended(ordered.invoice_id, 0))
from (select distinct unnest(list($invoice_ids)) as invoice_id order by 1) as ordered
