-- A name that is missing here is the statement of warehouse/sql.

-- name: lock
select pg_advisory_xact_lock($class::integer, $key::integer)

-- name: lock-shared
select pg_advisory_xact_lock_shared($class::integer, $key::integer)

-- name: try-lock
select pg_try_advisory_xact_lock($class::integer, $key::integer) as is_mine

-- name: lock-session
select pg_advisory_lock($class::integer, $key::integer)

-- name: stay-shared
select pg_advisory_lock_shared($class::integer, $key::integer)

-- name: try-lock-session
select pg_try_advisory_lock($class::integer, $key::integer) as is_mine

-- name: unlock-session
select pg_advisory_unlock($class::integer, $key::integer)

-- name: lock-invoices
-- Invoices are locked in one order, so that no two processes wait for each other.
select pg_advisory_xact_lock(hashtextextended(ordered.invoice_id, 0))
from (select distinct unnest(string_to_array($invoice_ids, ',')) as invoice_id order by 1) as ordered

-- name: blocked-by
select h.application_name as name, host(h.client_addr) as client, h.pid,
    to_char(h.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
from pg_stat_activity as h
where h.pid in (
    select unnest(pg_blocking_pids(w.pid))
    from pg_stat_activity as w
    where w.application_name = $name and w.wait_event_type = 'Lock'
        and w.query_start < now() - make_interval(secs => $seconds::double precision)
)
and h.application_name <> $name
order by h.backend_start

-- name: end-frozen-writers
-- Ends connections of DuckDB that others wait for and that have been idle inside a transaction for $seconds, when their process has lost
-- its presence: it is frozen, or its machine is gone.
select h.application_name as name, pg_terminate_backend(h.pid) as is_ended
from pg_stat_activity as h
where h.application_name like 'billsync duckdb %' and h.state = 'idle in transaction'
    and h.state_change < now() - make_interval(secs => $seconds::double precision)
    and h.pid in (select unnest(pg_blocking_pids(w.pid)) from pg_stat_activity as w where w.wait_event_type = 'Lock')
    and not exists (
        select 1
        from pg_locks as l
        join pg_stat_activity as p on p.pid = l.pid
        where l.locktype = 'advisory' and l.granted and l.classid = $class::integer::oid
            and regexp_replace(p.application_name, '^billsync \S+ ', '') = regexp_replace(h.application_name, '^billsync \S+ ', '')
    )

-- name: others-present
select a.application_name as name, host(a.client_addr) as client, a.pid,
    to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
from pg_locks as l
join pg_stat_activity as a on a.pid = l.pid
where l.locktype = 'advisory' and l.granted and a.datname = current_database()
    and l.classid = $class::integer::oid and l.objid = $key::integer::oid
    and a.pid <> pg_backend_pid()
order by a.backend_start

-- name: has-pointer
select to_regclass('billsync.warehouse') is not null as is_there

-- name: has-ledgers
select to_regclass($schema || '.schema_migrations') is not null and to_regclass($schema || '.loads') is not null as is_there

-- name: create-pointer-schema
create schema if not exists billsync

-- name: create-pointer
create table if not exists billsync.warehouse (
    only_one boolean primary key default true check (only_one),
    environment text not null,
    generation integer not null
)

-- name: claim-pointer
insert into billsync.warehouse (environment, generation) values ($environment, 1)

-- name: read-pointer
select environment, generation from billsync.warehouse

-- name: move-pointer
update billsync.warehouse set generation = $generation::integer

-- name: generation-schemas
select nspname as schema, substring(nspname from '[0-9]+$')::integer as generation
from pg_namespace
where nspname ~ '^billsync_(lake_)?[0-9]+$'
order by 1

-- name: count-loads
select count(*)::float8 as loads from loads

-- name: next-load-id
select nextval('load_ids')::integer as load_id

-- name: skip-load-ids
-- Continues ids above the highest known one after loads were repeated under their ids. Changes nothing when they are higher already.
select setval('load_ids', h.highest) as load_id
from (select greatest($highest::integer, (select max(load_id) from loads)) as highest) as h
where h.highest > (select last_value from load_ids)

-- name: mark-recorded
update loads set is_recorded = true where load_id = $load_id::integer

-- name: unrecorded-loads
-- Loads whose fact the archive may lack: their writer ended, or is about to archive it.
select
    load_id, invoice_id::text as invoice_id, version, file_sha256, file_source, announced_sha256, event_id, workflow_run_id,
    shipments::float8 as shipments, billing_cost::text as billing_cost, iso(loaded_at) as loaded_at,
    encoded_sha256, is_denied, is_damaged
from loads
where not is_recorded
order by load_id

-- name: insert-publication
insert into publication_log
select
    coalesce((select max(sequence) from publication_log), 0) + 1,
    $published_at::timestamp,
    (select count(*) from invoice_state),
    (select count(*) from invoice_state where current_load_id is not null and voided_at is null),
    (select coalesce(sum(l.shipments), 0) from invoice_state as i join loads as l on l.load_id = i.current_load_id
        where i.voided_at is null),
    (select count(*) from event_ledger),
    (select max(load_id) from loads),
    (select max(received_at) from event_ledger)
returning sequence, invoices::float8 as invoices, shipments::float8 as shipments, iso(published_at) as published_at

-- name: seed-publication
insert into publication_log (sequence, published_at, invoices, loaded_invoices, shipments, events)
values ($sequence::integer, $published_at::timestamp, 0, 0, 0, 0)

-- name: last-sequence
select coalesce(max(sequence), 0) as sequence from publication_log

-- name: delete-states
delete from invoice_state
where invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[])) and $places::text is not null

-- name: stored-states
select
    s.invoice_id::text as invoice_id, iso(s.first_seen_at) as first_seen_at, s.versions > 0 as has_loads,
    coalesce(s.attention_lines, 1) > 0 as has_attention,
    exists (select 1 from discrepancy_lines as d where d.invoice_id = s.invoice_id) as has_discrepancies
from invoice_state as s
where s.invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[]))

-- name: insert-rows
insert into {table} ({columns}) select {columns} from json_populate_recordset(null::{table}, $rows::json)

-- name: known-events
select event_id, verdict from event_ledger where event_id in (select json_array_elements_text($event_ids::json))

-- name: release-events
delete from event_ledger
where verdict = 'quarantined' and event_id in (select json_array_elements_text($event_ids::json))

-- name: ingest-runs
select started, finished, finished_whole from ingest_runs

-- name: start-ingest
update ingest_runs set started = started + 1 returning started

-- name: finish-ingest
update ingest_runs set finished = $run::bigint, finished_whole = case when $is_whole::boolean then $run::bigint else finished_whole end
