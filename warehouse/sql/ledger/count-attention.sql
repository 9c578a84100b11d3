-- PostgreSQL takes it as well, for the ledgers of a lake.
select count(*)::float8 as invoices from invoice_state where state = 'needs_attention'
