-- The tables behind the views lie in a schema of their own, so that `show tables` in the published file shows what is safe to
-- use. DuckDB moves no table to another schema, so each is copied, once; the space that the old ones had stays in the file and
-- is used for what comes next (`rebuild` makes a file without it). schema_migrations stays where an older billsync looks for it.
create schema if not exists internal;

create table internal.applied_views (
    sha256 varchar not null, applied_at timestamp not null
);
insert into internal.applied_views by name select * from main.applied_views;
drop table main.applied_views;

create table internal.ask_log (
    invoice_id uuid not null, asked_at timestamp not null
);
insert into internal.ask_log by name select * from main.ask_log;
drop table main.ask_log;

create table internal.attention_ledger (
    recorded_at timestamp not null, invoice_id uuid not null, is_open boolean not null, code varchar, reason varchar,
    kind varchar, told_by varchar, file_sha256 varchar, counts_from timestamp
);
insert into internal.attention_ledger by name select * from main.attention_ledger;
drop table main.attention_ledger;

create table internal.details_ledger (
    recorded_at timestamp not null, invoice_id uuid not null, partner_invoice_id varchar, invoice_level varchar,
    tenant_id varchar, partner_tenant_id varchar, invoice_number varchar, invoice_status varchar,
    invoice_start_date varchar, invoice_end_date varchar, invoice_date varchar, invoice_due_date varchar,
    currency_code varchar, stated_total varchar, stated_shipments bigint
);
insert into internal.details_ledger by name select * from main.details_ledger;
drop table main.details_ledger;

create table internal.discrepancy_lines (
    invoice_id uuid not null, rule varchar not null, stated varchar not null, found varchar not null,
    file_sha256 varchar, event_id varchar, recorded_at timestamp not null
);
insert into internal.discrepancy_lines by name select * from main.discrepancy_lines;
drop table main.discrepancy_lines;

create table internal.duplicate_ledger (
    recorded_at timestamp not null, event_id varchar not null
);
insert into internal.duplicate_ledger by name select * from main.duplicate_ledger;
drop table main.duplicate_ledger;

create table internal.event_ledger (
    event_id varchar primary key, received_at timestamp not null, verdict varchar not null, reason varchar,
    event_type varchar, event_timestamp timestamp, partner_id varchar, is_test_event boolean, invoice_id uuid,
    partner_invoice_id varchar, invoice_level varchar, tenant_id varchar, partner_tenant_id varchar,
    invoice_number varchar, invoice_status varchar, invoice_start_date varchar, invoice_end_date varchar,
    invoice_date varchar, invoice_due_date varchar, currency_code varchar, stated_total varchar,
    stated_shipments bigint, announced_sha256 varchar, announced_size_bytes bigint, announced_url varchar,
    url_expires_at timestamp
);
insert into internal.event_ledger by name select * from main.event_ledger;
drop table main.event_ledger;

create table internal.file_ledger (
    recorded_at timestamp not null, invoice_id uuid not null, file_sha256 varchar not null,
    file_size_bytes bigint not null, file_source varchar not null, came_from varchar
);
insert into internal.file_ledger by name select * from main.file_ledger;
drop table main.file_ledger;

create table internal.ingest_cursors (
    stream varchar primary key, position varchar not null
);
insert into internal.ingest_cursors by name select * from main.ingest_cursors;
drop table main.ingest_cursors;

create table internal.invoice_state (
    invoice_id uuid primary key, state varchar not null, reason_code varchar, reason varchar,
    state_since timestamp not null, service_status varchar, current_load_id integer, proof varchar,
    partner_id varchar, partner_invoice_id varchar, invoice_level varchar, tenant_id varchar,
    partner_tenant_id varchar, invoice_number varchar, invoice_start_date varchar, invoice_end_date varchar,
    invoice_date varchar, invoice_due_date varchar, currency_code varchar, stated_total varchar,
    stated_shipments bigint, event_id varchar, first_heard_at timestamp not null, created_at timestamp,
    finalized_at timestamp, first_loaded_at timestamp, loaded_at timestamp, voided_at timestamp,
    attention_at timestamp, resolved_at timestamp, versions integer not null, notes integer, void_word varchar,
    restored_at timestamp, past_voids varchar
);
insert into internal.invoice_state by name select * from main.invoice_state;
drop table main.invoice_state;

create table internal.loads (
    load_id integer not null, invoice_id uuid not null, version integer not null, file_sha256 varchar not null,
    file_size_bytes bigint not null, file_source varchar not null, announced_sha256 varchar, event_id varchar,
    workflow_run_id varchar, tenant varchar, shipments bigint not null, billing_cost decimal(38, 4) not null,
    currency_code varchar, currencies varchar not null, first_ship_date date, last_ship_date date,
    ends_with_line_end boolean not null, loaded_at timestamp not null, encoded_sha256 varchar
);
insert into internal.loads by name select * from main.loads;
drop table main.loads;

create table internal.package_loads (
    load_id integer not null, is_partner boolean not null
);
insert into internal.package_loads by name select * from main.package_loads;
drop table main.package_loads;

create table internal.publication_log (
    sequence integer not null, published_at timestamp not null, invoices bigint not null,
    loaded_invoices bigint not null, shipments bigint not null, events bigint not null, last_load_id integer,
    last_event_received_at timestamp
);
insert into internal.publication_log by name select * from main.publication_log;
drop table main.publication_log;

create table internal.repeated_copies (
    load_id integer not null, row_number integer not null, tenant varchar, invoice_generation_date date,
    ship_date date, origin varchar, currency_code varchar, billable_weight decimal(18, 4),
    billable_weight_unit varchar, tracking_number varchar, carrier varchar, carrier_zone varchar,
    service_level varchar
);
insert into internal.repeated_copies by name select * from main.repeated_copies;
drop table main.repeated_copies;

create table internal.repeated_rows (
    load_id integer not null, row_number integer not null
);
insert into internal.repeated_rows by name select * from main.repeated_rows;
drop table main.repeated_rows;

create table internal.set_aside (
    place varchar primary key, recorded_at timestamp not null, why varchar not null
);
insert into internal.set_aside by name select * from main.set_aside;
drop table main.set_aside;

-- With whatever columns were added to it (duckdb/csv-columns.ts).
create table internal.shipment_rows as select * from main.shipment_rows;
alter table internal.shipment_rows alter column load_id set not null;
alter table internal.shipment_rows alter column row_number set not null;
alter table internal.shipment_rows alter column tenant set not null;
alter table internal.shipment_rows alter column invoice_generation_date set not null;
alter table internal.shipment_rows alter column ship_date set not null;
alter table internal.shipment_rows alter column currency_code set not null;
alter table internal.shipment_rows alter column billing_cost set not null;
alter table internal.shipment_rows alter column tracking_number set not null;
alter table internal.shipment_rows alter column carrier set not null;
drop table main.shipment_rows;

create table internal.verification_log (
    load_id integer not null, verified_at timestamp not null
);
insert into internal.verification_log by name select * from main.verification_log;
drop table main.verification_log;

-- Asked by reports only.
drop view if exists main.repeated_shipments;
