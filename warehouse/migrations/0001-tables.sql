-- In a schema of their own, so that `show tables` in the published file lists what analysts use. A table is a ledger (rows written
-- once, each with an instant) or derived from ledgers. All instants are UTC.

create schema if not exists internal;

create table internal.event_ledger (
    event_id varchar not null,
    received_at timestamp not null,
    verdict varchar not null,               -- accepted, test, quarantined
    reason varchar,
    event_type varchar,
    event_timestamp timestamp,
    partner_id varchar,
    is_test_event boolean,
    is_unchecked boolean,                   -- received before our partner was known
    invoice_id uuid,
    partner_invoice_id varchar,
    invoice_level varchar,                  -- tenant, partner; null: unknown
    tenant_id varchar,
    partner_tenant_id varchar,
    invoice_number varchar,
    invoice_status varchar,                 -- as in the payload; the event type decides
    invoice_start_date varchar,
    invoice_end_date varchar,
    invoice_date varchar,
    invoice_due_date varchar,
    currency_code varchar,
    stated_total varchar,                   -- digits as written
    stated_shipments bigint,
    announced_sha256 varchar,
    announced_size_bytes bigint,
    announced_url varchar,                  -- without its query
    url_expires_at timestamp
);

-- The first 128 bits of the SHA-256 of each event id. The keys of the two widest ledgers are in narrow tables of their own: a
-- checkpoint rewrites the last row group of a table with a key, all of its columns.
create table internal.event_keys (
    event_mark uuid primary key
);

create table internal.duplicate_ledger (
    recorded_at timestamp not null,
    event_id varchar not null
);

create table internal.details_ledger (
    recorded_at timestamp not null,
    invoice_id uuid not null,
    partner_id varchar,                     -- the partner for which the service was asked; null: unknown
    partner_invoice_id varchar,
    invoice_level varchar,
    tenant_id varchar,
    partner_tenant_id varchar,
    invoice_number varchar,
    invoice_status varchar,
    invoice_start_date varchar,
    invoice_end_date varchar,
    invoice_date varchar,
    invoice_due_date varchar,
    currency_code varchar,
    stated_total varchar,
    stated_shipments bigint
);

create table internal.attention_ledger (
    recorded_at timestamp not null,
    invoice_id uuid not null,
    is_open boolean not null,
    code varchar,
    reason varchar,
    kind varchar,                           -- failure, restored, version, hash, excluded; null: needs attention
    decided_by varchar,                     -- user name of the operator; null: billsync
    file_sha256 varchar,                    -- version: the chosen file; hash: the named one
    after_version integer,                  -- newest version of the invoice when the line was recorded; null: unknown
    names varchar                           -- restored: ids of its void events; version: hashes it decides against
);

create table internal.file_ledger (
    recorded_at timestamp not null,
    invoice_id uuid not null,
    file_sha256 varchar not null,
    file_size_bytes bigint not null,
    file_source varchar not null,           -- event, regenerate, export, file
    came_from varchar                       -- URL without query, or the name of an imported file
);

-- Rows are never deleted, except by `purge`.
create table internal.loads (
    load_id integer not null,
    invoice_id uuid not null,
    version integer not null,
    file_sha256 varchar not null,
    file_size_bytes bigint not null,
    file_source varchar not null,
    announced_sha256 varchar,
    event_id varchar,
    workflow_run_id varchar,
    tenant varchar,
    shipments bigint not null,
    billing_cost decimal(38, 4) not null,   -- of the rows in currency_code
    currency_code varchar,
    currencies varchar not null,            -- all of them, sorted, comma-separated
    first_ship_date date,
    last_ship_date date,
    ends_with_line_end boolean not null,
    loaded_at timestamp not null,
    encoded_sha256 varchar,                 -- the announced hash if it was that of the HTTP-encoded bytes; else null
    is_denied boolean,                      -- the service had named the hash of another file; null: no
    is_damaged boolean                      -- a spreadsheet seems to have changed its cells, and an operator accepted that; null: no
);

-- No key and no index: a key on rows makes the file grow with every load, and secondary indexes returned wrong results after a
-- crash (duckdb#23848). Rows are appended by rising load_id, so zone maps find the rows of a load.
create table internal.shipment_rows (
    load_id integer not null,
    row_number integer not null,
    tenant varchar not null,
    invoice_generation_date date not null,
    ship_date date not null,
    origin varchar,
    currency_code varchar not null,
    billing_cost decimal(18, 4) not null,
    billable_weight decimal(18, 4),
    billable_weight_unit varchar,
    tracking_number varchar not null,
    carrier varchar not null,
    carrier_zone varchar,
    carrier_invoice_date date,
    service_level varchar,
    added_columns varchar                   -- further columns of the file, as a JSON object of texts; null: none
);

-- Derived by derive-invoice.ts and by nothing else, so that any order of events ends in the same row.
create table internal.invoice_state (
    invoice_id uuid not null,
    state varchar not null,
    reason_code varchar,
    reason varchar,
    state_since timestamp not null,
    service_status varchar,
    current_load_id integer,
    proof varchar,                          -- null: nothing is loaded
    partner_id varchar,
    partner_invoice_id varchar,
    invoice_level varchar,
    tenant_id varchar,
    partner_tenant_id varchar,
    invoice_number varchar,
    invoice_start_date varchar,
    invoice_end_date varchar,
    invoice_date varchar,
    invoice_due_date varchar,
    currency_code varchar,
    stated_total varchar,
    stated_shipments bigint,
    event_id varchar,                       -- the event that decided the service's status
    first_seen_at timestamp not null,
    created_at timestamp,
    finalized_at timestamp,
    first_loaded_at timestamp,
    loaded_at timestamp,
    voided_at timestamp,
    attention_at timestamp,
    resolved_at timestamp,
    versions integer not null,
    attention_lines integer,                -- rows of attention_ledger; null: none
    void_basis varchar,                     -- event, details, unanswered, contradicted, unknown, foreign; null: not voided
    restored_at timestamp,
    last_version integer not null default 0, -- 0: nothing was loaded
    counts_since timestamp,                 -- since when the current load counts, or is void as now; null: nothing is loaded
    past_counts varchar                     -- JSON list of earlier spans: load_id, voided_at, since, until; null: none
);

-- Two first loads of the same invoice cannot both commit.
create table internal.invoice_keys (
    invoice_id uuid primary key
);

create table internal.discrepancy_lines (
    invoice_id uuid not null,
    rule varchar not null,
    stated varchar not null,
    found varchar not null,
    file_sha256 varchar,
    event_id varchar,
    recorded_at timestamp not null
);

create table internal.publication_log (
    sequence integer not null,
    published_at timestamp not null,
    invoices bigint not null,
    loaded_invoices bigint not null,
    shipments bigint not null,
    events bigint not null,
    last_load_id integer,
    last_event_received_at timestamp,
    -- The archive has the fact of each load up to this one.
    recorded_to integer
);

-- Written in the transaction that ingests the lines.
create table internal.ingest_cursors (
    stream varchar primary key,
    position varchar not null
);

create table internal.verification_log (
    load_id integer not null,
    verified_at timestamp not null
);

-- This table is not in the archive: without it the request is repeated once.
create table internal.service_checks (
    invoice_id uuid not null,
    checked_at timestamp not null
);

-- The archive keeps these records, and a rebuild tries them again.
create table internal.set_aside (
    place varchar primary key,              -- where in the archive, or which record
    recorded_at timestamp not null,
    why varchar not null
);

create table internal.applied_views (
    sha256 varchar not null,
    applied_at timestamp not null
);
