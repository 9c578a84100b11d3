-- About how many lines held-records.sql answers. For DuckDB and PostgreSQL alike.
select
    (2 * (select count(*) from loads) + (select count(*) from invoice_state) + (select count(*) from event_ledger)
        + (select count(*) from attention_ledger))::float8 as records
