-- What a rebuild that was interrupted left: of what it was being made, and how far it came. For DuckDB and PostgreSQL alike.
select
    (select position from ingest_cursors where stream = 'draft') as made_of,
    -- Once the end of the facts was reached, what could not be loaded again is known only as long as this place is kept.
    exists (select 1 from ingest_cursors where stream = 'loads')
        or not exists (select 1 from ingest_cursors where stream = 'facts') as is_open,
    (select count(*)::integer from set_aside) as set_aside,
    (select count(*)::integer from event_ledger) as events,
    (select count(*)::integer from loads) as loads
