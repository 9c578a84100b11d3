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
-- In one order, so that no two processes wait for each other.
select pg_advisory_xact_lock(hashtextextended(ordered.invoice_id, 0))
from (select distinct unnest(list($invoice_ids)) as invoice_id order by 1) as ordered

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

-- name: create-pointer-schema
create schema if not exists billsync

-- name: create-pointer
create table if not exists billsync.warehouse (
    only_one boolean primary key default true check (only_one),
    environment text not null,
    generation integer not null
)

-- name: claim-pointer
insert into billsync.warehouse (environment, generation) values ($environment, 1) on conflict do nothing

-- name: read-pointer
select environment, generation from billsync.warehouse

-- name: move-pointer
update billsync.warehouse set generation = $generation::integer

-- name: generation-schemas
select nspname as schema, substring(nspname from '[0-9]+$')::integer as generation
from pg_namespace
where nspname ~ '^billsync_(lake_)?[0-9]+$'
order by 1

-- name: create-migrations
create table if not exists schema_migrations (number integer primary key, name text not null, applied_at timestamp not null)

-- name: insert-migration
insert into schema_migrations values ($number::integer, $name, $applied_at::timestamp)

-- name: insert-loads
insert into loads (
    load_id, invoice_id, version, file_sha256, file_size_bytes, file_source, announced_sha256, event_id, workflow_run_id,
    tenant, shipments, billing_cost, currency_code, currencies, first_ship_date, last_ship_date, ends_with_line_end, loaded_at,
    encoded_sha256, is_denied, is_damaged
)
select
    load_id, invoice_id, version, file_sha256, file_size_bytes, file_source, announced_sha256, event_id, workflow_run_id,
    tenant, shipments, billing_cost, currency_code, currencies, first_ship_date, last_ship_date, ends_with_line_end, loaded_at,
    encoded_sha256, is_denied, is_damaged
from json_populate_recordset(null::loads, $loads::json)
order by load_id

-- name: load-known
-- Files of these that need no load; the transaction checks again.
select a.invoice_id::text as invoice_id, a.file_sha256, i.voided_at is not null as is_voided
from json_to_recordset($files::json) as a(invoice_id uuid, file_sha256 text)
left join invoice_state as i on i.invoice_id = a.invoice_id
left join loads as l on l.invoice_id = a.invoice_id and l.file_sha256 = a.file_sha256
where i.voided_at is not null or l.load_id is not null

-- name: known-of-loads
select load_id from loads where load_id = any(list($load_ids)::integer[])

-- name: next-load-id
select nextval('load_ids')::integer as load_id

-- name: skip-load-ids
-- Continues ids above the highest known one after loads were repeated under their ids. Changes nothing when they are higher already.
select setval('load_ids', h.highest) as load_id
from (select greatest($highest::integer, (select max(load_id) from loads)) as highest) as h
where h.highest > (select last_value from load_ids)

-- name: mark-recorded
update loads set is_recorded = true where load_id = $load_id::integer

-- name: unknown-loads
select given.load_id
from unnest(list($load_ids)::integer[]) as given(load_id)
where not exists (select 1 from loads as l where l.load_id = given.load_id)
order by given.load_id

-- name: unrecorded-loads
-- Loads whose fact the archive may lack: their writer ended, or is about to archive it.
select
    load_id, invoice_id::text as invoice_id, version, file_sha256, file_source, announced_sha256, event_id, workflow_run_id,
    shipments::float8 as shipments, billing_cost::text as billing_cost, iso(loaded_at) as loaded_at,
    encoded_sha256, is_denied, is_damaged
from loads
where not is_recorded
order by load_id

-- name: read-loads
select
    invoice_id::text as invoice_id, load_id, version, file_source, file_sha256, announced_sha256, encoded_sha256,
    coalesce(is_denied, false) as is_denied, coalesce(is_damaged, false) as is_damaged,
    file_size_bytes::float8 as file_size_bytes, shipments::float8 as shipments,
    billing_cost::text as billing_cost, currency_code, currencies, first_ship_date::text as first_ship_date,
    last_ship_date::text as last_ship_date, ends_with_line_end, iso(loaded_at) as loaded_at
from loads
where invoice_id = any(list($invoice_ids)::uuid[]) and loaded_at >= $since::timestamp
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

-- name: last-sequence
select coalesce(max(sequence), 0) as sequence from publication_log

-- name: delete-discrepancies
delete from discrepancy_lines where invoice_id = any(list($invoice_ids)::uuid[])

-- name: delete-service-checks
delete from service_checks where invoice_id in (select (jsonb_array_elements_text($invoice_ids::jsonb))::uuid)

-- name: delete-states
delete from invoice_state where invoice_id = any(list($invoice_ids)::uuid[]) and $places::text is not null

-- name: due-rechecks
-- PostgreSQL's form of the statement of this name in warehouse/sql.
select invoice_id::text as invoice_id, partner_id
from (
    select
        invoice_id, partner_id, state, since, checked_at, restored_at,
        since + make_interval(secs => (floor(age / period) * period)::double precision) as due_at
    from (
        select *, case when age <= 7 * 86400 then 86400 else 7 * 86400 end as period
        from (
            select
                i.invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id, i.state_since as since, a.checked_at,
                i.state, i.restored_at,
                extract(epoch from least($until::timestamp, coalesce(
                    case when i.invoice_date ~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])' then
                        to_date(left(i.invoice_date, 10), 'YYYY-MM-DD')::timestamp end,
                    i.state_since) + make_interval(days => $days::integer)) - i.state_since) as age
            from invoice_state as i
            left join service_checks as a on a.invoice_id = i.invoice_id
            where i.state = 'loaded' or (i.restored_at is not null and i.voided_at is null)
        ) as loaded
        where (age >= 86400 or restored_at > coalesce(checked_at, '-infinity')) and partner_id is not null
    ) as aged
) as due
where (state = 'loaded' and due_at > coalesce(checked_at, since)) or restored_at > coalesce(checked_at, '-infinity')
order by coalesce(checked_at, since), invoice_id
limit $limit::bigint

-- name: due-retries
-- PostgreSQL's form of the statement of this name in warehouse/sql.
select invoice_id::text as invoice_id, partner_id
from (
    select
        i.invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id, i.state_since as since, a.checked_at, i.reason_code,
        floor(extract(epoch from $until::timestamp - i.state_since) / 86400)::integer as days
    from invoice_state as i
    left join service_checks as a on a.invoice_id = i.invoice_id
    where i.state = 'needs_attention' and not $never::jsonb ? coalesce(i.reason_code, '')
) as parked
where partner_id is not null
    and (
        (days >= 1 and since + make_interval(days => days) > coalesce(checked_at, since))
        or (reason_code = 'delivery-refused' and since > coalesce(checked_at, '-infinity'))
    )
order by coalesce(checked_at, since), invoice_id
limit $limit::bigint

-- name: held-states
select
    s.invoice_id::text as invoice_id, iso(s.first_seen_at) as first_seen_at, s.versions > 0 as has_loads,
    coalesce(s.attention_lines, 1) > 0 as has_attention,
    exists (select 1 from discrepancy_lines as d where d.invoice_id = s.invoice_id) as has_discrepancies
from invoice_state as s
where s.invoice_id = any(list($invoice_ids)::uuid[])

-- name: insert-attention
insert into attention_ledger select * from json_populate_recordset(null::attention_ledger, $facts::json)

-- name: insert-cursor
insert into ingest_cursors values ($stream, $position) on conflict (stream) do update set position = excluded.position

-- name: insert-details
insert into details_ledger select * from json_populate_recordset(null::details_ledger, $facts::json)

-- name: insert-discrepancies
insert into discrepancy_lines select * from json_populate_recordset(null::discrepancy_lines, $discrepancies::json)

-- name: insert-duplicates
insert into duplicate_ledger select * from json_populate_recordset(null::duplicate_ledger, $facts::json)

-- name: insert-events
-- A delivery that was refused and later accepted becomes accepted; nothing else changes a known event.
insert into event_ledger
select * from json_populate_recordset(null::event_ledger, $events::json)
on conflict (event_id) do update set
    received_at = excluded.received_at, verdict = excluded.verdict, reason = excluded.reason, event_type = excluded.event_type,
    event_timestamp = excluded.event_timestamp, partner_id = excluded.partner_id, is_test_event = excluded.is_test_event,
    invoice_id = excluded.invoice_id, partner_invoice_id = excluded.partner_invoice_id, invoice_level = excluded.invoice_level,
    tenant_id = excluded.tenant_id, partner_tenant_id = excluded.partner_tenant_id, invoice_number = excluded.invoice_number,
    invoice_status = excluded.invoice_status, invoice_start_date = excluded.invoice_start_date,
    invoice_end_date = excluded.invoice_end_date, invoice_date = excluded.invoice_date,
    invoice_due_date = excluded.invoice_due_date, currency_code = excluded.currency_code, stated_total = excluded.stated_total,
    stated_shipments = excluded.stated_shipments, announced_sha256 = excluded.announced_sha256,
    announced_size_bytes = excluded.announced_size_bytes, announced_url = excluded.announced_url,
    url_expires_at = excluded.url_expires_at
where event_ledger.verdict = 'quarantined' and excluded.verdict <> 'quarantined'
returning event_id, invoice_id::text as invoice_id

-- name: insert-files
insert into file_ledger select * from json_populate_recordset(null::file_ledger, $facts::json)

-- name: insert-service-checks
insert into service_checks
select (jsonb_array_elements_text($invoice_ids::jsonb))::uuid, $checked_at::timestamp
on conflict (invoice_id) do update set checked_at = excluded.checked_at

-- name: insert-states
insert into invoice_state select * from json_populate_recordset(null::invoice_state, $states::json)

-- name: known-events
select event_id, verdict from event_ledger where event_id in (select json_array_elements_text($event_ids::json))

-- name: ledger-statuses
select
    i.invoice_id::text as invoice_id, i.state, i.stated_total, i.stated_shipments::float8 as stated_shipments,
    l.billing_cost::text as billing_cost, l.shipments::float8 as shipments,
    i.reason_code is not null or exists (
        select 1 from discrepancy_lines as d where d.invoice_id = i.invoice_id and d.rule = 'unknown-status'
    ) as is_unanswered
from invoice_state as i
left join loads as l on l.load_id = i.current_load_id
where i.invoice_id in (select json_array_elements_text($invoice_ids::json)::uuid)

-- name: read-attention
select invoice_id::text as invoice_id, iso(recorded_at) as recorded_at, is_open, code, reason, kind, decided_by, file_sha256,
    iso(counts_from) as counts_from
from attention_ledger
where invoice_id = any(list($invoice_ids)::uuid[]) and recorded_at >= $since::timestamp

-- name: read-evidence
select
    invoice_id::text as invoice_id, iso(received_at) as recorded_at, iso(coalesce(event_timestamp, received_at)) as event_time,
    event_id, event_type, invoice_status, partner_id, partner_invoice_id, invoice_level, tenant_id, partner_tenant_id,
    invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total,
    stated_shipments::float8 as stated_shipments, announced_sha256, announced_size_bytes::float8 as announced_size_bytes
from event_ledger
where invoice_id = any(list($invoice_ids)::uuid[]) and verdict = 'accepted' and not is_test_event
    and received_at >= $since::timestamp
union all
select
    invoice_id::text, iso(recorded_at), iso(recorded_at), null, null, invoice_status, null, partner_invoice_id, invoice_level,
    tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date,
    currency_code, stated_total, stated_shipments::float8, null, null
from details_ledger
where invoice_id = any(list($invoice_ids)::uuid[]) and recorded_at >= $since::timestamp

-- name: release-events
delete from event_ledger
where verdict = 'quarantined' and event_id in (
    select event_id
    from json_to_recordset($events::json) as given (event_id text, verdict text)
    where verdict <> 'quarantined'
)

-- name: ingest-runs
select started, finished, finished_whole from ingest_runs

-- name: start-ingest
update ingest_runs set started = started + 1 returning started

-- name: finish-ingest
update ingest_runs set finished = $run::bigint, finished_whole = case when $is_whole::boolean then $run::bigint else finished_whole end
