-- name: count-made
-- What a publication of this warehouse would tell of it. For DuckDB and PostgreSQL alike.
select
    (select count(*)::integer from invoice_state) as invoices,
    (select coalesce(sum(l.shipments), 0)::varchar from invoice_state as i join loads as l on l.load_id = i.current_load_id
        where i.voided_at is null) as shipments

-- name: partial-rebuild-files
-- Every file of which the draft has rows.
select distinct file_sha256 from loads

-- name: partial-rebuild-state
-- What a rebuild that was interrupted left: of what it was being made, and how far it came. For DuckDB and PostgreSQL alike.
select
    (select position from ingest_cursors where stream = 'rebuild') as made_of,
    -- Once the end of the facts was reached, what could not be loaded again is known only as long as this place is kept.
    exists (select 1 from ingest_cursors where stream = 'loads')
        or not exists (select 1 from ingest_cursors where stream = 'facts') as is_open,
    (select count(*)::integer from set_aside) as set_aside,
    (select count(*)::integer from event_ledger) as events,
    (select count(*)::integer from loads) as loads

-- name: finish-partial-rebuild
-- From here on it is a warehouse like any other.
delete from ingest_cursors where stream = 'rebuild'

-- name: delete-publications
-- What an interrupted rebuild was told of the last publication; there may have been another since.
delete from publication_log

-- name: highest-load
-- Rows of a load that never got its line in loads cannot exist (one transaction); they are asked for all the same,
-- because a load id must never be used twice. Only those above the highest line ($above) are looked for: their row groups say
-- that there are none, and no row is read.
select greatest($above::integer, coalesce((select max(load_id) from shipment_rows where load_id > $above::integer), 0)) as load_id

-- name: loads-since
-- Loads that a crash may have kept from being told to the archive: those after the last publication, since a
-- publication waits until every fact is written.
select
    load_id, invoice_id::varchar as invoice_id, version, file_sha256, file_source, announced_sha256, event_id, workflow_run_id,
    shipments::double as shipments, billing_cost::varchar as billing_cost, iso(loaded_at) as loaded_at,
    encoded_sha256, is_denied, is_damaged
from loads
where load_id > coalesce((select max(last_load_id) from publication_log), 0)
order by load_id

-- name: seed-publication
-- The last publication of the warehouse that this one replaces; its contents are not ours to tell.
insert into publication_log values ($sequence::integer, $published_at::timestamp, 0, 0, 0, 0, null, null)
