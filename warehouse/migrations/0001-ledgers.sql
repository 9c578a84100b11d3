-- The base tables. Everything here is either a ledger (written once, an instant on every row) or made from ledgers.
--
-- shipment_rows has no key and no index: a key on rows makes the file grow with every load and secondary indexes
-- answered wrongly after a crash (duckdb#23848). Rows are appended by rising load_id, so zone maps find a load's rows.
-- The only keys stand on small tables: they are the fences against loading or counting a thing twice.
-- All instants are UTC.

create table event_ledger (
    event_id varchar primary key,
    received_at timestamp not null,
    verdict varchar not null,               -- accepted, test, quarantined
    reason varchar,
    event_type varchar,
    event_timestamp timestamp,
    partner_id varchar,
    is_test_event boolean,
    invoice_id uuid,
    partner_invoice_id varchar,
    invoice_level varchar,                  -- tenant, partner; null: not said
    tenant_id varchar,
    partner_tenant_id varchar,
    invoice_number varchar,
    invoice_status varchar,                 -- the payload's word; the event's type decides
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

-- A delivery of an event that was here already; counted, never acted on.
create table duplicate_ledger (
    noted_at timestamp not null,
    event_id varchar not null
);

-- What the details endpoint answered, or the import of a file was told.
create table details_ledger (
    noted_at timestamp not null,
    invoice_id uuid not null,
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

-- When an invoice began to need a person, and when that ended.
create table attention_ledger (
    noted_at timestamp not null,
    invoice_id uuid not null,
    is_open boolean not null,
    code varchar,
    reason varchar
);

create table file_ledger (
    noted_at timestamp not null,
    invoice_id uuid not null,
    file_sha256 varchar not null,
    file_size_bytes bigint not null,
    file_source varchar not null,           -- event, regenerate, export, file
    came_from varchar                       -- URL without query, or the name of an imported file
);

create table loads (
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
    billing_cost decimal(38, 4) not null,   -- of the rows in currency_code; currencies are never added
    currency_code varchar,
    currencies varchar not null,            -- all of them, sorted, comma-separated
    first_ship_date date,
    last_ship_date date,
    ends_with_line_end boolean not null,
    loaded_at timestamp not null
);

create table shipment_rows (
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
    service_level varchar
);

-- One row per invoice ever heard of, made from the ledgers by derive-invoice.ts and by nothing else, so that
-- any order of arrival ends in the same row. Its key is the fence: two loads of one invoice cannot both commit.
create table invoice_state (
    invoice_id uuid primary key,
    state varchar not null,
    reason_code varchar,
    reason varchar,
    state_since timestamp not null,
    service_status varchar,
    current_load_id integer,
    proof varchar,                          -- hash, header, unproved; null: nothing is loaded
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
    first_heard_at timestamp not null,
    created_at timestamp,
    finalized_at timestamp,
    first_loaded_at timestamp,
    loaded_at timestamp,
    voided_at timestamp,
    attention_at timestamp,
    resolved_at timestamp,
    versions integer not null
);

-- Where two honest sources differ; derived and replaced with the invoice's row.
create table discrepancy_lines (
    invoice_id uuid not null,
    rule varchar not null,
    stated varchar not null,
    found varchar not null,
    file_sha256 varchar,
    event_id varchar,
    recorded_at timestamp not null
);

create table publication_log (
    sequence integer not null,
    published_at timestamp not null,
    invoices bigint not null,
    loaded_invoices bigint not null,
    shipments bigint not null,
    events bigint not null,
    last_load_id integer,
    last_event_received_at timestamp
);

-- How far the archive was read; written in the transaction that takes the lines in.
create table ingest_cursors (
    stream varchar primary key,
    position varchar not null
);

-- Which loads were proved against the archive, so that an ordinary verify reads only what is new.
create table verification_log (
    load_id integer not null,
    verified_at timestamp not null
);
