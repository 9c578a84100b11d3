-- name: are-events-known
-- A row if the ledger has one of these events, as their keys say: it is read only then (known-events).
select 1
from event_keys
where event_mark in (
    select left(sha256(event_id), 32)::uuid
    from (select unnest(from_json($event_ids::json, '["VARCHAR"]')) as event_id)
)
limit 1

-- name: claim-events
-- The key of these events, which the ledger has not: two connections that take in one event meet here.
insert into event_keys
select left(sha256(event_id), 32)::uuid
from (select unnest(from_json($event_ids::json, '["VARCHAR"]')) as event_id)

-- name: claim-invoices
-- The key of these invoices, which have no row yet: two connections that make the first row of one meet here.
insert into invoice_keys select unnest($invoice_ids::uuid[])

-- name: count-attention
-- PostgreSQL takes it as well, for the ledgers of a lake.
select count(*)::float8 as invoices from invoice_state where state = 'needs_attention'

-- name: count-held-records
-- About how many lines held-records answers. For DuckDB and PostgreSQL alike.
select
    (2 * (select count(*) from loads) + (select count(*) from invoice_state) + (select count(*) from event_ledger)
        + (select count(*) from attention_ledger))::float8 as records

-- name: due-rechecks
-- Loaded invoices that the service is to be asked about again: daily for a week after the load, then weekly, until so
-- many days after the invoice date. What came due stays due until it was asked; who waits longest comes first.
-- An invoice whose void a person undid is asked about once at the next run: its workflow may wait for just this.
select invoice_id::varchar as invoice_id, partner_id
from (
    select
        invoice_id, partner_id, state, since, checked_at, restored_at,
        since + to_seconds(floor(age / period)::bigint * period) as due_at
    from (
        select *, case when age <= 7 * 86400 then 86400 else 7 * 86400 end as period
        from (
            select
                i.invoice_id, coalesce(i.partner_id, $partner_id::varchar) as partner_id, i.state_since as since, a.checked_at,
                i.state, i.restored_at,
                epoch(least($until::timestamp, coalesce(try_cast(left(i.invoice_date, 10) as timestamp), i.state_since)
                    + to_days($days::integer)) - i.state_since) as age
            from invoice_state as i
            left join service_checks as a on a.invoice_id = i.invoice_id
            where i.state = 'loaded' or (i.restored_at is not null and i.voided_at is null)
        )
        where (age >= 86400 or restored_at > coalesce(checked_at, '-infinity')) and partner_id is not null
    )
)
where (state = 'loaded' and due_at > coalesce(checked_at, since)) or restored_at > coalesce(checked_at, '-infinity')
order by coalesce(checked_at, since), invoice_id
limit $limit::bigint

-- name: due-retries
-- Invoices that wait for a person for something that may have passed: tried again once a day, who waits longest first. Of
-- one that only a refused delivery told of the service is asked at the next run: nobody else looks after it.
select invoice_id::varchar as invoice_id, partner_id
from (
    select
        i.invoice_id, coalesce(i.partner_id, $partner_id::varchar) as partner_id, i.state_since as since, a.checked_at, i.reason_code,
        floor(epoch($until::timestamp - i.state_since) / 86400)::bigint as days
    from invoice_state as i
    left join service_checks as a on a.invoice_id = i.invoice_id
    where i.state = 'needs_attention'
        and not list_contains(from_json($never::json, '["VARCHAR"]'), coalesce(i.reason_code, ''))
)
where partner_id is not null
    and (
        (days >= 1 and since + to_seconds(days * 86400) > coalesce(checked_at, since))
        or (reason_code = 'delivery-refused' and since > coalesce(checked_at, '-infinity'))
    )
order by coalesce(checked_at, since), invoice_id
limit $limit::bigint

-- name: delete-service-checks
delete from service_checks where invoice_id in (select unnest(from_json($invoice_ids::json, '["UUID"]')))

-- name: delete-discrepancies
delete from discrepancy_lines where invoice_id in (select unnest($invoice_ids::uuid[]))

-- name: delete-states
-- Before the rows are inserted as they are now. Never an update: DuckDB 1.5.5 can lose one from null to a text, in a
-- column whose nulls lie in its dictionary, and answers null for ever. Two connections that forget one row conflict.
-- Read where they lie (held-states), so that no other row is.
delete from invoice_state
where rowid in (select unnest($places::bigint[])) and invoice_id in (select unnest($invoice_ids::uuid[]))
returning invoice_id::varchar as invoice_id

-- name: delete-unrepeated
-- Every load that the archive tells of is repeated, or noted as one that cannot be.
delete from ingest_cursors where stream = 'loads'

-- name: held-records
-- What the archive has to know of: loads, events, and how many lines facts left about an invoice or an event; and the
-- invoices that all these make. What a load that could not be repeated left (archive-damaged) is of no fact. For DuckDB
-- and PostgreSQL alike.
-- Only those whose subject's hash begins as $part says.
select * from (
    select 'load' as kind, load_id::varchar as subject, invoice_id::varchar as invoice_id, file_sha256, 1 as lines,
        load_id in (select current_load_id from invoice_state where voided_at is null) as is_counted
    from loads
    union all
    select 'invoice', invoice_id::varchar, invoice_id::varchar, null, 1, false
    from invoice_state
    union all
    select 'event', lower(event_id), invoice_id::varchar, null, 1, false
    from event_ledger
    union all
    select 'details', invoice_id::varchar, invoice_id::varchar, null, count(*)::integer, false
    from details_ledger
    group by invoice_id
    union all
    select
        case kind when 'restored' then 'restored' when 'version' then 'version-chosen' when 'hash' then 'hash-answered'
            when 'failure' then case when is_open then 'failure' else 'recovered' end
            else case when is_open then 'attention' else 'resolved' end end,
        invoice_id::varchar, invoice_id::varchar, null, count(*)::integer, false
    from attention_ledger
    where code is distinct from 'archive-damaged'
    group by 1, invoice_id
    union all
    select 'file', invoice_id::varchar, invoice_id::varchar, null, count(*)::integer, false
    from file_ledger
    group by invoice_id
    union all
    select 'duplicate', event_id, null, null, count(*)::integer, false
    from duplicate_ledger
    group by event_id
) as r
where md5(subject) like $part::text

-- name: held-states
-- Which of these invoices have a row, what it was made of, and whether discrepancies are recorded for them. Where it lies holds
-- until the transaction ends.
select
    s.rowid::varchar as place,
    s.invoice_id::varchar as invoice_id, iso(s.first_seen_at) as first_seen_at, s.versions > 0 as has_loads,
    coalesce(s.attention_lines, 1) > 0 as has_attention,
    s.invoice_id in (select d.invoice_id from discrepancy_lines as d) as has_discrepancies
from invoice_state as s
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = s.invoice_id

-- name: insert-attention
-- When invoices began and ceased to need a person, and what else is noted of them, from a batch of facts.
insert into attention_ledger
select recorded_at::timestamp, invoice_id::uuid, is_open, code, reason, kind, decided_by, file_sha256, counts_from::timestamp
from (select unnest(from_json($facts::json, '[{
    "recorded_at": "VARCHAR", "invoice_id": "VARCHAR", "is_open": "BOOLEAN", "code": "VARCHAR", "reason": "VARCHAR",
    "kind": "VARCHAR", "decided_by": "VARCHAR", "file_sha256": "VARCHAR", "counts_from": "VARCHAR"}]'), recursive := true))

-- name: insert-details
-- What the details endpoint answered, from a batch of facts.
insert into details_ledger
select
    recorded_at::timestamp, invoice_id::uuid, partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number,
    invoice_status, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total,
    stated_shipments
from (select unnest(from_json($facts::json, '[{
    "recorded_at": "VARCHAR", "invoice_id": "VARCHAR", "partner_invoice_id": "VARCHAR", "invoice_level": "VARCHAR",
    "tenant_id": "VARCHAR", "partner_tenant_id": "VARCHAR", "invoice_number": "VARCHAR", "invoice_status": "VARCHAR",
    "invoice_start_date": "VARCHAR", "invoice_end_date": "VARCHAR", "invoice_date": "VARCHAR", "invoice_due_date": "VARCHAR",
    "currency_code": "VARCHAR", "stated_total": "VARCHAR", "stated_shipments": "BIGINT"}]'), recursive := true))

-- name: insert-duplicates
-- Deliveries of events that were here already, from a batch of facts.
insert into duplicate_ledger
select recorded_at::timestamp, event_id
from (select unnest(from_json($facts::json, '[{"recorded_at": "VARCHAR", "event_id": "VARCHAR"}]'), recursive := true))

-- name: insert-events
-- Takes a batch of archived events (one JSON text, so that values are bound and a thousand cost one statement) into
-- the ledger, which has none of them: known-events was asked, and what is taken again was released before.
insert into event_ledger
select
    event_id, received_at::timestamp, verdict, reason, event_type, event_timestamp::timestamp, partner_id, is_test_event,
    invoice_id::uuid, partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number, invoice_status,
    invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total, stated_shipments,
    announced_sha256, announced_size_bytes, announced_url, url_expires_at::timestamp
from (
    select unnest(from_json($events::json, '[{
        "event_id": "VARCHAR", "received_at": "VARCHAR", "verdict": "VARCHAR", "reason": "VARCHAR", "event_type": "VARCHAR",
        "event_timestamp": "VARCHAR", "partner_id": "VARCHAR", "is_test_event": "BOOLEAN", "invoice_id": "VARCHAR",
        "partner_invoice_id": "VARCHAR", "invoice_level": "VARCHAR", "tenant_id": "VARCHAR", "partner_tenant_id": "VARCHAR",
        "invoice_number": "VARCHAR", "invoice_status": "VARCHAR", "invoice_start_date": "VARCHAR", "invoice_end_date": "VARCHAR",
        "invoice_date": "VARCHAR", "invoice_due_date": "VARCHAR", "currency_code": "VARCHAR", "stated_total": "VARCHAR",
        "stated_shipments": "BIGINT", "announced_sha256": "VARCHAR", "announced_size_bytes": "BIGINT",
        "announced_url": "VARCHAR", "url_expires_at": "VARCHAR"}]'), recursive := true)
)
returning event_id, invoice_id

-- name: insert-files
-- Files that were had for an invoice, from a batch of facts.
insert into file_ledger
select recorded_at::timestamp, invoice_id::uuid, file_sha256, file_size_bytes, file_source, came_from
from (select unnest(from_json($facts::json, '[{
    "recorded_at": "VARCHAR", "invoice_id": "VARCHAR", "file_sha256": "VARCHAR", "file_size_bytes": "BIGINT",
    "file_source": "VARCHAR", "came_from": "VARCHAR"}]'), recursive := true))

-- name: insert-states
-- Invoices' rows as derive-invoice.ts made them from the ledgers; what there was of them is forgotten already. Not an
-- upsert: its plan costs three times an insert's. Two connections that insert one invoice meet at its key (claim-invoices).
insert into invoice_state
select
    invoice_id::uuid, state, reason_code, reason, state_since::timestamp, service_status, current_load_id, proof, partner_id,
    partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date,
    invoice_date, invoice_due_date, currency_code, stated_total, stated_shipments, event_id, first_seen_at::timestamp,
    created_at::timestamp, finalized_at::timestamp, first_loaded_at::timestamp, loaded_at::timestamp, voided_at::timestamp,
    attention_at::timestamp, resolved_at::timestamp, versions, attention_lines, void_basis, restored_at::timestamp, past_voids
from (
    select unnest(from_json($states::json, '[{
        "invoice_id": "VARCHAR", "state": "VARCHAR", "reason_code": "VARCHAR", "reason": "VARCHAR", "state_since": "VARCHAR",
        "service_status": "VARCHAR", "current_load_id": "INTEGER", "proof": "VARCHAR", "partner_id": "VARCHAR",
        "partner_invoice_id": "VARCHAR", "invoice_level": "VARCHAR", "tenant_id": "VARCHAR", "partner_tenant_id": "VARCHAR",
        "invoice_number": "VARCHAR", "invoice_start_date": "VARCHAR", "invoice_end_date": "VARCHAR", "invoice_date": "VARCHAR",
        "invoice_due_date": "VARCHAR", "currency_code": "VARCHAR", "stated_total": "VARCHAR", "stated_shipments": "BIGINT",
        "event_id": "VARCHAR", "first_seen_at": "VARCHAR", "created_at": "VARCHAR", "finalized_at": "VARCHAR",
        "first_loaded_at": "VARCHAR", "loaded_at": "VARCHAR", "voided_at": "VARCHAR", "attention_at": "VARCHAR",
        "resolved_at": "VARCHAR", "versions": "INTEGER", "attention_lines": "INTEGER", "void_basis": "VARCHAR",
        "restored_at": "VARCHAR", "past_voids": "VARCHAR"}]'), recursive := true)
)

-- name: void-state
-- Whether an invoice is voided already and has rows.
select voided_at is not null as is_voided, current_load_id is not null as has_rows
from invoice_state
where invoice_id = $invoice_id::uuid

-- name: known-events
-- Which of these events the ledger has, and as what. Their keys are asked first, so that the ledger is read only for those
-- that it has; whoever asks holds the ledger until the insert is committed.
with asked as materialized (
    select event_id, left(sha256(event_id), 32)::uuid as event_mark
    from (select unnest(from_json($event_ids::json, '["VARCHAR"]')) as event_id)
)
select event_id, verdict
from event_ledger
where event_id in (
    select a.event_id
    from asked as a
    join (select event_mark from event_keys where event_mark in (select event_mark from asked)) as k on k.event_mark = a.event_mark
)

-- name: move-cursor
update ingest_cursors set position = $position where stream = $stream returning stream

-- name: insert-service-checks
insert into service_checks select unnest(from_json($invoice_ids::json, '["UUID"]')), $checked_at::timestamp

-- name: insert-set-aside
-- Once per record: who asks is told which of them nobody knew of. For DuckDB and PostgreSQL alike.
insert into set_aside (place, recorded_at, why)
select $place::varchar, $recorded_at::timestamp, $why::varchar
where not exists (select 1 from set_aside where place = $place::varchar)
returning place

-- name: insert-unrepeated
-- From where on facts tell of loads that are missing here: noted before the place in the archive moves on, so that a start that
-- dies before it has repeated them is made good by the next. For DuckDB and PostgreSQL alike.
insert into ingest_cursors (stream, position)
select 'loads', $position::text
where not exists (select 1 from ingest_cursors where stream = 'loads')

-- name: read-attention
-- When these invoices began and ceased to need a person, and what else is noted of them, since an instant.
select a.invoice_id::varchar as invoice_id, iso(recorded_at) as recorded_at, is_open, code, reason, kind,
    decided_by, file_sha256, iso(counts_from) as counts_from
from attention_ledger as a
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = a.invoice_id
where recorded_at >= $since::timestamp

-- name: read-cursors
select stream, position from ingest_cursors

-- name: read-evidence
-- Everything that says something about these invoices since an instant: events that count, and details answers. Lines lie
-- nearly in the order of their instants, so what is older is hardly read.
select
    e.invoice_id::varchar as invoice_id, iso(received_at) as recorded_at, iso(coalesce(event_timestamp, received_at)) as event_time,
    event_id, event_type, invoice_status, partner_id, partner_invoice_id, invoice_level, tenant_id, partner_tenant_id,
    invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total,
    stated_shipments::double as stated_shipments, announced_sha256, announced_size_bytes::double as announced_size_bytes
from event_ledger as e
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = e.invoice_id
where verdict = 'accepted' and not is_test_event and received_at >= $since::timestamp
union all
select
    d.invoice_id::varchar, iso(recorded_at), iso(recorded_at), null, null, invoice_status, null, partner_invoice_id, invoice_level,
    tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date,
    currency_code, stated_total, stated_shipments::double, null, null
from details_ledger as d
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = d.invoice_id
where recorded_at >= $since::timestamp

-- name: read-loads
-- The versions of these invoices that were loaded since an instant.
select
    l.invoice_id::varchar as invoice_id, load_id, version, file_source, file_sha256, announced_sha256, encoded_sha256,
    coalesce(is_denied, false) as is_denied, coalesce(is_damaged, false) as is_damaged,
    file_size_bytes::double as file_size_bytes, shipments::double as shipments,
    billing_cost::varchar as billing_cost, currency_code, currencies, first_ship_date::varchar as first_ship_date,
    last_ship_date::varchar as last_ship_date, ends_with_line_end, iso(loaded_at) as loaded_at
from loads as l
semi join (select unnest($invoice_ids::uuid[]) as invoice_id) as i on i.invoice_id = l.invoice_id
where loaded_at >= $since::timestamp

-- name: release-events
-- Deliveries that were refused and are not any more leave the ledger, to be taken again as what they are now. Deleted
-- and inserted, never updated (delete-states says why).
delete from event_ledger
where verdict = 'quarantined' and event_id in (
    select event_id
    from (select unnest(from_json($events::json, '[{"event_id": "VARCHAR", "verdict": "VARCHAR"}]'), recursive := true))
    where verdict <> 'quarantined'
)

-- name: select-invoices-of
-- select-invoices for some invoices, past the view: who asks for one asks often, and the view's sums cost more than its row.
-- They are found first, and only their loads are read. PostgreSQL takes it as well, for the ledgers of a lake.
with asked as materialized (
    select * from invoice_state where invoice_id in (select unnest(string_to_array($invoice_ids, ','))::uuid)
)
select
    i.invoice_id::text as invoice_id, i.partner_id, i.invoice_number, i.partner_invoice_id, i.invoice_level, i.tenant_id,
    i.partner_tenant_id, i.service_status, i.invoice_start_date, i.invoice_end_date, i.invoice_date, i.invoice_due_date,
    i.currency_code, i.stated_total, i.stated_shipments::float8 as stated_shipments,
    i.void_basis, iso(i.restored_at) as restored_at, i.state, i.reason_code, i.reason, iso(i.state_since) as state_since, iso(i.first_seen_at) as first_seen_at,
    l.file_sha256, l.version, l.shipments::float8 as shipments, l.billing_cost::text as billing_cost
from asked as i
left join (select * from loads where load_id in (select current_load_id from asked)) as l on l.load_id = i.current_load_id

-- name: select-invoices
-- Invoices as the warehouse knows them, oldest first; an empty list of states means all.
select
    invoice_id::varchar as invoice_id, i.partner_id, v.invoice_number, v.partner_invoice_id, i.invoice_level, v.tenant_id,
    v.partner_tenant_id, v.service_status, i.invoice_start_date, i.invoice_end_date, i.invoice_date, i.invoice_due_date,
    i.currency_code, i.stated_total, i.stated_shipments::double as stated_shipments,
    i.void_basis, iso(i.restored_at) as restored_at, v.state, v.reason_code, v.reason, iso(v.state_since) as state_since, iso(v.first_seen_at) as first_seen_at,
    v.file_sha256, v.version, v.shipments::double as shipments, v.billing_cost::varchar as billing_cost
from invoices as v
join invoice_state as i using (invoice_id)
where (len($states::varchar[]) = 0 or list_contains($states::varchar[], v.state))
order by v.first_seen_at, invoice_id

-- name: ledger-statuses
-- Where each of these invoices stands, one of which nothing is known is missing: a look at very many asks for a slice at once.
with asked as materialized (
    select * from invoice_state where invoice_id in (select unnest(from_json($invoice_ids::json, '["UUID"]')))
)
select
    i.invoice_id::varchar as invoice_id, i.state, i.stated_total, i.stated_shipments::double as stated_shipments,
    l.billing_cost::varchar as billing_cost, l.shipments::double as shipments,
    i.reason_code is not null or i.invoice_id in (
        select invoice_id from discrepancy_lines
        where rule = 'unknown-status' and invoice_id in (select invoice_id from asked)
    ) as is_unanswered
from asked as i
left join (select * from loads where load_id in (select current_load_id from asked)) as l on l.load_id = i.current_load_id

-- name: unfinished-invoices
-- Invoices that a workflow should be open for: not loaded yet, voided by an event that the service was not asked about, or
-- with a file that broke a rule and that the service may repair. PostgreSQL takes it as well, for the ledgers of a lake.
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
-- Of the loads that facts tell of, those the warehouse does not have. Only ids between theirs are read.
select load_id from (select unnest($load_ids::integer[]) as load_id)
anti join (
    select load_id from loads where load_id between list_min($load_ids::integer[]) and list_max($load_ids::integer[])
) using (load_id)
order by load_id

-- name: insert-cursor
-- The first position of a stream; from then on it is moved.
insert into ingest_cursors values ($stream, $position)

-- name: insert-discrepancies
-- Derived with the invoice's row and replaced with it.
insert into discrepancy_lines
select invoice_id::uuid, rule, stated, found, file_sha256, event_id, recorded_at::timestamp
from (select unnest(from_json($discrepancies::json, '[{
    "invoice_id": "VARCHAR", "rule": "VARCHAR", "stated": "VARCHAR", "found": "VARCHAR", "file_sha256": "VARCHAR",
    "event_id": "VARCHAR", "recorded_at": "VARCHAR"}]'), recursive := true))
