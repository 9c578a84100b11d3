-- warehouse/migrations/0001-tables.sql explains the tables. The rows of shipments are in the lake. Runs in a schema of its own, so that a
-- rebuild fills a second one beside it.

create function iso(instant timestamp) returns text language sql immutable
    as $$ select to_char(instant, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- null: no date.
create function day_of(stated text) returns timestamp language plpgsql immutable
    as $$ begin return left(stated, 10)::date; exception when data_exception then return null; end $$;

create sequence load_ids as integer;

create table event_ledger (
    event_id text primary key,
    received_at timestamp not null,
    verdict text not null,
    reason text,
    event_type text,
    event_timestamp timestamp,
    partner_id text,
    is_test_event boolean,
    is_unchecked boolean,
    invoice_id uuid,
    partner_invoice_id text,
    invoice_level text,
    tenant_id text,
    partner_tenant_id text,
    invoice_number text,
    invoice_status text,
    invoice_start_date text,
    invoice_end_date text,
    invoice_date text,
    invoice_due_date text,
    currency_code text,
    stated_total text,
    stated_shipments bigint,
    announced_sha256 text,
    announced_size_bytes bigint,
    announced_url text,
    url_expires_at timestamp
);
create index on event_ledger (invoice_id);

create table duplicate_ledger (
    recorded_at timestamp not null,
    event_id text not null
);

create table details_ledger (
    recorded_at timestamp not null,
    invoice_id uuid not null,
    partner_id text,
    partner_invoice_id text,
    invoice_level text,
    tenant_id text,
    partner_tenant_id text,
    invoice_number text,
    invoice_status text,
    invoice_start_date text,
    invoice_end_date text,
    invoice_date text,
    invoice_due_date text,
    currency_code text,
    stated_total text,
    stated_shipments bigint,
    rowid bigint generated always as identity
);
create index on details_ledger (invoice_id);

create table attention_ledger (
    recorded_at timestamp not null,
    invoice_id uuid not null,
    is_open boolean not null,
    code text,
    reason text,
    kind text,
    decided_by text,
    file_sha256 text,
    after_version integer,
    names text,
    rowid bigint generated always as identity
);
create index on attention_ledger (invoice_id);

create table file_ledger (
    recorded_at timestamp not null,
    invoice_id uuid not null,
    file_sha256 text not null,
    file_size_bytes bigint not null,
    file_source text not null,
    came_from text
);

-- A load id is used once, and a file is loaded once for an invoice.
create table loads (
    load_id integer primary key,
    invoice_id uuid not null,
    version integer not null,
    file_sha256 text not null,
    file_size_bytes bigint not null,
    file_source text not null,
    announced_sha256 text,
    event_id text,
    workflow_run_id text,
    tenant text,
    shipments bigint not null,
    billing_cost numeric(38, 4) not null,
    currency_code text,
    currencies text not null,
    first_ship_date date,
    last_ship_date date,
    ends_with_line_end boolean not null,
    loaded_at timestamp not null,
    encoded_sha256 text,
    is_denied boolean,
    is_damaged boolean,
    is_recorded boolean not null default false, -- whether the archive has the fact of it
    unique (invoice_id, file_sha256)
);
create index on loads (load_id) where not is_recorded;

create table invoice_state (
    invoice_id uuid primary key,
    state text not null,
    reason_code text,
    reason text,
    state_since timestamp not null,
    service_status text,
    current_load_id integer,
    proof text,
    partner_id text,
    partner_invoice_id text,
    invoice_level text,
    tenant_id text,
    partner_tenant_id text,
    invoice_number text,
    invoice_start_date text,
    invoice_end_date text,
    invoice_date text,
    invoice_due_date text,
    currency_code text,
    stated_total text,
    stated_shipments bigint,
    event_id text,
    first_seen_at timestamp not null,
    created_at timestamp,
    finalized_at timestamp,
    first_loaded_at timestamp,
    loaded_at timestamp,
    voided_at timestamp,
    attention_at timestamp,
    resolved_at timestamp,
    versions integer not null,
    attention_lines integer,
    void_basis text,
    restored_at timestamp,
    last_version integer not null default 0,
    counts_since timestamp,
    past_counts text
);

create table discrepancy_lines (
    invoice_id uuid not null,
    rule text not null,
    stated text not null,
    found text not null,
    file_sha256 text,
    event_id text,
    recorded_at timestamp not null
);
create index on discrepancy_lines (invoice_id);

create table publication_log (
    sequence integer primary key,
    published_at timestamp not null,
    invoices bigint not null,
    loaded_invoices bigint not null,
    shipments bigint not null,
    events bigint not null,
    last_load_id integer,
    last_event_received_at timestamp
);

create table ingest_cursors (
    stream text primary key,
    position text not null
);

-- By number: the last run that was started, the last that was finished, and the last of those that left no fact for later.
create table ingest_runs (
    started bigint not null,
    finished bigint not null,
    finished_whole bigint not null
);
insert into ingest_runs values (0, 0, 0);

create table verification_log (
    load_id integer not null,
    verified_at timestamp not null
);
create index on verification_log (load_id);

create table service_checks (
    invoice_id uuid primary key,
    checked_at timestamp not null
);

create table set_aside (
    place text primary key,
    recorded_at timestamp not null,
    why text not null
);
