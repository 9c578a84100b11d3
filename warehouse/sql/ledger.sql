-- name: announcement-differences
select cast(invoice_id as text) as invoice_id, rule, stated, found
from discrepancy_lines
where rule in ('announced-hash', 'announced-size')
order by invoice_id, rule

-- name: are-events-known
-- One row if the ledger may have one of these events; only then is it read (known-events).
select 1
from event_keys
where event_mark in (
    select left(sha256(event_id), 32)::uuid
    from (select unnest(from_json($event_ids::json, '["VARCHAR"]')) as event_id)
)
limit 1

-- name: claim-events
-- Two connections that insert the same event conflict here.
insert into event_keys
select left(sha256(event_id), 32)::uuid
from (select unnest(from_json($event_ids::json, '["VARCHAR"]')) as event_id)

-- name: claim-invoices
-- Two connections that insert the first row of the same invoice conflict here.
insert into invoice_keys select unnest(string_to_array($invoice_ids, ',')::uuid[])

-- name: count-attention
-- For DuckDB and PostgreSQL.
select count(*)::float8 as invoices from invoice_state where state = 'needs_attention'

-- name: due-rechecks
-- Daily for a week after the load, then weekly, until $days after the invoice date, the longest overdue first. A restored invoice is
-- checked once at the next run: its workflow may wait for it. For DuckDB and PostgreSQL.
select invoice_id::text as invoice_id, partner_id
from (
    select
        invoice_id, partner_id, state, since, checked_at, restored_at,
        since + interval '1 second' * (floor(age / period) * period) as due_at
    from (
        select *, case when age <= 7 * 86400 then 86400 else 7 * 86400 end as period
        from (
            select
                i.invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id, i.state_since as since, a.checked_at,
                i.state, i.restored_at,
                extract(epoch from least(
                    $until::timestamp,
                    coalesce(day_of(i.invoice_date), i.state_since) + interval '1 day' * $days::integer
                ) - i.state_since) as age
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
-- Once a day, the longest overdue first. An invoice known only from a refused delivery has no workflow, and is due at the next run.
-- For DuckDB and PostgreSQL.
select invoice_id::text as invoice_id, partner_id
from (
    select
        i.invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id, i.state_since as since, a.checked_at, i.reason_code,
        floor(extract(epoch from $until::timestamp - i.state_since) / 86400) as days
    from invoice_state as i
    left join service_checks as a on a.invoice_id = i.invoice_id
    -- For a rejected file the workflow requests a repaired one itself; the same bytes would be rejected again.
    where i.state = 'needs_attention' and i.reason_code is distinct from 'csv-rejected'
) as parked
where partner_id is not null
    and (
        (days >= 1 and since + interval '1 day' * days > coalesce(checked_at, since))
        or (reason_code = 'delivery-refused' and since > coalesce(checked_at, '-infinity'))
    )
order by coalesce(checked_at, since), invoice_id
limit $limit::bigint

-- name: delete-service-checks
delete from service_checks where invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[]))

-- name: delete-discrepancies
delete from discrepancy_lines where invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[]))

-- name: delete-states
-- Before the new rows are inserted. Never an update: DuckDB 1.5.5 can lose one from null to a text (ADR 12). Two connections
-- that delete the same row conflict. By rowid (stored-states), so that no other row is read.
delete from invoice_state
where rowid in (select unnest(string_to_array($places, ',')::bigint[]))
    and invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[]))
returning invoice_id::varchar as invoice_id

-- name: delete-unrepeated
delete from ingest_cursors where stream = 'loads'

-- name: stored-records
-- Records that the archive must have. Lines of failed loads (archive-damaged) have no fact. For DuckDB and PostgreSQL.
select 'load' as kind, invoice_id::varchar || ' ' || file_sha256 as subject, invoice_id::varchar as invoice_id, file_sha256 as sha256,
    1 as lines, load_id in (select current_load_id from invoice_state where voided_at is null) as is_counted, load_id
from loads
union all
select 'invoice', invoice_id::varchar, invoice_id::varchar, null, 1, false, null
from invoice_state
union all
select 'event', lower(event_id), invoice_id::varchar, null, 1, false, null
from event_ledger
union all
select 'details', invoice_id::varchar, invoice_id::varchar, null, count(*)::integer, false, null
from details_ledger
group by invoice_id
union all
select
    case kind when 'restored' then 'restored' when 'version' then 'version-chosen' when 'hash' then 'hash-answered'
        when 'excluded' then case when is_open then 'excluded' else 'included' end
        when 'failure' then case when is_open then 'failure' else 'recovered' end
        else case when is_open then 'attention' else 'resolved' end end,
    invoice_id::varchar, invoice_id::varchar, null, count(*)::integer, false, null
from attention_ledger
where code is distinct from 'archive-damaged'
group by 1, invoice_id
union all
select 'file', invoice_id::varchar, invoice_id::varchar, null, count(*)::integer, false, null
from file_ledger
group by invoice_id
union all
select 'duplicate', event_id, null, null, count(*)::integer, false, null
from duplicate_ledger
group by event_id

-- name: stored-states
select
    s.rowid::varchar as place,
    s.invoice_id::varchar as invoice_id, iso(s.first_seen_at) as first_seen_at, s.versions > 0 as has_loads,
    coalesce(s.attention_lines, 1) > 0 as has_attention,
    s.invoice_id in (select d.invoice_id from discrepancy_lines as d) as has_discrepancies
from invoice_state as s
semi join (select unnest(string_to_array($invoice_ids, ',')::uuid[]) as invoice_id) as i on i.invoice_id = s.invoice_id

-- name: known-events
-- The keys are read first, so that the ledger is read only for events that it has. The caller holds the ledger lock until the
-- insert is committed.
with given as materialized (
    select event_id, left(sha256(event_id), 32)::uuid as event_mark
    from (select unnest(from_json($event_ids::json, '["VARCHAR"]')) as event_id)
)
select event_id, verdict
from event_ledger
where event_id in (
    select a.event_id
    from given as a
    join (select event_mark from event_keys where event_mark in (select event_mark from given)) as k on k.event_mark = a.event_mark
)

-- name: move-cursor
update ingest_cursors set position = $position where stream = $stream returning stream

-- name: insert-service-checks
insert into service_checks select unnest(string_to_array($invoice_ids, ',')::uuid[]), $checked_at::timestamp

-- name: insert-rows
-- The statement casts texts to the types of the columns.
insert into {table} by name select unnest(from_json($rows::json, '{structure}'), recursive := true)

-- name: insert-set-aside
-- Returns the record if it was not set aside before. For DuckDB and PostgreSQL.
insert into set_aside (place, recorded_at, why)
select $place::varchar, $recorded_at::timestamp, $why::varchar
where not exists (select 1 from set_aside where place = $place::varchar)
returning place

-- name: insert-unrepeated
-- Stored before the cursor moves, so that after a crash the next start repeats the missing loads. For DuckDB and PostgreSQL.
insert into ingest_cursors (stream, position)
select 'loads', $position::text
where not exists (select 1 from ingest_cursors where stream = 'loads')

-- name: read-attention
-- For DuckDB and PostgreSQL.
select invoice_id::text as invoice_id, iso(recorded_at) as recorded_at, is_open, code, reason, kind, decided_by, file_sha256,
    after_version, names
from attention_ledger
where invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[])) and recorded_at >= $since::timestamp
order by rowid

-- name: read-cursors
select stream, position from ingest_cursors

-- name: read-evidence
-- Lines are nearly in the order of their time, so that older row groups are skipped. The clock of the sender orders events only up to
-- two minutes after their receipt. For DuckDB and PostgreSQL.
select
    invoice_id::text as invoice_id, iso(received_at) as recorded_at,
    iso(least(coalesce(event_timestamp, received_at), received_at + interval '2 minutes')) as event_time,
    null::float8 as entry, event_id, event_type, invoice_status, partner_id, partner_invoice_id, invoice_level, tenant_id,
    partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total,
    stated_shipments::float8 as stated_shipments, announced_sha256, announced_size_bytes::float8 as announced_size_bytes
from event_ledger
where invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[])) and verdict = 'accepted' and not is_test_event
    and received_at >= $since::timestamp
union all
select
    invoice_id::text, iso(recorded_at), iso(recorded_at), rowid::float8, null, null, invoice_status, partner_id,
    partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date,
    currency_code, stated_total, stated_shipments::float8, null, null
from details_ledger
where invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[])) and recorded_at >= $since::timestamp

-- name: read-loads
-- For DuckDB and PostgreSQL.
select
    invoice_id::text as invoice_id, load_id, version, file_source, file_sha256, announced_sha256, encoded_sha256,
    coalesce(is_denied, false) as is_denied, coalesce(is_damaged, false) as is_damaged,
    file_size_bytes::float8 as file_size_bytes, shipments::float8 as shipments,
    billing_cost::text as billing_cost, currency_code, currencies, first_ship_date::text as first_ship_date,
    last_ship_date::text as last_ship_date, ends_with_line_end, iso(loaded_at) as loaded_at
from loads
where invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[])) and loaded_at >= $since::timestamp

-- name: release-events
delete from event_ledger
where verdict = 'quarantined' and event_id in (select unnest(from_json($event_ids::json, '["VARCHAR"]')))

-- name: select-invoices
-- Without the view invoices, whose sums cost more than the rows. For DuckDB and PostgreSQL.
with chosen as materialized (
    select * from invoice_state where invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[]))
)
select
    i.invoice_id::text as invoice_id, i.tenant_id, i.partner_tenant_id, i.state, i.reason_code, i.reason, i.void_basis,
    iso(i.restored_at) as restored_at, iso(i.state_since) as state_since,
    l.file_sha256 as loaded_sha256, l.version as loaded_version, i.last_version, l.shipments::float8 as shipments, l.billing_cost::text as billing_cost
from chosen as i
left join (select * from loads where load_id in (select current_load_id from chosen)) as l on l.load_id = i.current_load_id

-- name: invoice-ids
-- Without states all. For DuckDB and PostgreSQL.
select invoice_id::text as invoice_id
from invoice_state
where $states::text = '' or state in (select unnest(string_to_array($states::text, ',')))
order by first_seen_at, invoice_id

-- name: numbers-of-invoices
-- For DuckDB and PostgreSQL. A number that several invoices have names none of them.
select i.invoice_id::text as invoice_id, i.invoice_number
from invoice_state as i
where i.invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[]))
    and i.invoice_number is not null
    and not exists (
        select 1 from invoice_state as o where o.invoice_number = i.invoice_number and o.invoice_id <> i.invoice_id
    )

-- name: ledger-statuses
-- For DuckDB and PostgreSQL.
with chosen as materialized (
    select * from invoice_state where invoice_id in (select unnest(string_to_array($invoice_ids, ',')::uuid[]))
)
select
    i.invoice_id::text as invoice_id, i.state, i.stated_total, i.stated_shipments::float8 as stated_shipments,
    l.billing_cost::text as billing_cost, l.shipments::float8 as shipments,
    i.reason_code is not null or i.invoice_id in (
        select invoice_id from discrepancy_lines
        where rule = 'unknown-status' and invoice_id in (select invoice_id from chosen)
    ) as is_unanswered
from chosen as i
left join (select * from loads where load_id in (select current_load_id from chosen)) as l on l.load_id = i.current_load_id

-- name: unchecked-invoices
-- Invoices of events that were received before our partner was known. For DuckDB and PostgreSQL.
select invoice_id::text as invoice_id, partner_id, void_basis
from invoice_state
where partner_id is not null and restored_at is null
    and invoice_id in (select invoice_id from event_ledger where is_unchecked and verdict = 'accepted')

-- name: unconfirmed-invoices
-- Loaded files that only an event has named, the newest first; after a day the recheck asks. And invoices that the service did not know.
-- For DuckDB and PostgreSQL.
select i.invoice_id::text as invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id, i.void_basis,
    l.file_sha256, l.encoded_sha256
from invoice_state as i
join loads as l on l.load_id = i.current_load_id
where i.restored_at is null and coalesce(i.partner_id, $partner_id::text) is not null
    and ((i.proof = 'announced' and i.voided_at is null and l.loaded_at >= $since::timestamp) or i.void_basis = 'unknown')
order by l.load_id desc
limit $limit::bigint

-- name: confirmed-invoice
-- One that the service has named itself. For DuckDB and PostgreSQL.
select invoice_id::text as invoice_id from invoice_state where proof = 'hash' and voided_at is null order by current_load_id desc limit 1

-- name: unfinished-invoices
-- Invoices that are not loaded yet, have an unconfirmed void, or a refused file that the service may repair. For DuckDB and PostgreSQL.
select i.invoice_id::text as invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id
from invoice_state as i
where (
    i.state in ('draft', 'finalized')
    or ($confirm_voids::boolean and i.state = 'voided' and i.void_basis = 'event')
    or (i.state = 'needs_attention' and i.reason_code = 'csv-rejected')
)
and coalesce(i.partner_id, $partner_id::text) is not null
order by i.first_seen_at, i.invoice_id

-- name: unknown-loads
-- By invoice and file: after lost commits, a load id may be that of another load. For DuckDB and PostgreSQL.
select g.number
from (
    select
        generate_subscripts(string_to_array($file_sha256s, ','), 1) as number,
        unnest(string_to_array($invoice_ids, ',')::uuid[]) as invoice_id,
        unnest(string_to_array($file_sha256s, ',')) as file_sha256
) as g
left join loads as l on l.invoice_id = g.invoice_id and l.file_sha256 = g.file_sha256
where l.load_id is null

-- name: insert-cursor
insert into ingest_cursors values ($stream, $position)
