-- The keys of the two widest ledgers lie in tables of their own. A checkpoint writes the last, unfilled row group of a table with
-- a key anew, all of its columns, however few rows came; one without a key gets a row group of its own for them (ADR 48).

-- Of each event a mark of its id, which may be any text: the first 128 bits of its SHA-256.
create table internal.event_keys (
    event_mark uuid primary key
);
insert into internal.event_keys select left(sha256(event_id), 32)::uuid from internal.event_ledger;

create table internal.invoice_keys (
    invoice_id uuid primary key
);
insert into internal.invoice_keys select invoice_id from internal.invoice_state;

create table internal.event_ledger_without_key (
    event_id varchar not null, received_at timestamp not null, verdict varchar not null, reason varchar,
    event_type varchar, event_timestamp timestamp, partner_id varchar, is_test_event boolean, invoice_id uuid,
    partner_invoice_id varchar, invoice_level varchar, tenant_id varchar, partner_tenant_id varchar,
    invoice_number varchar, invoice_status varchar, invoice_start_date varchar, invoice_end_date varchar,
    invoice_date varchar, invoice_due_date varchar, currency_code varchar, stated_total varchar,
    stated_shipments bigint, announced_sha256 varchar, announced_size_bytes bigint, announced_url varchar,
    url_expires_at timestamp
);
insert into internal.event_ledger_without_key by name select * from internal.event_ledger;
drop table internal.event_ledger;
alter table internal.event_ledger_without_key rename to event_ledger;

create table internal.invoice_state_without_key (
    invoice_id uuid not null, state varchar not null, reason_code varchar, reason varchar,
    state_since timestamp not null, service_status varchar, current_load_id integer, proof varchar,
    partner_id varchar, partner_invoice_id varchar, invoice_level varchar, tenant_id varchar,
    partner_tenant_id varchar, invoice_number varchar, invoice_start_date varchar, invoice_end_date varchar,
    invoice_date varchar, invoice_due_date varchar, currency_code varchar, stated_total varchar,
    stated_shipments bigint, event_id varchar, first_heard_at timestamp not null, created_at timestamp,
    finalized_at timestamp, first_loaded_at timestamp, loaded_at timestamp, voided_at timestamp,
    attention_at timestamp, resolved_at timestamp, versions integer not null, notes integer, void_word varchar,
    restored_at timestamp, past_voids varchar
);
insert into internal.invoice_state_without_key by name select * from internal.invoice_state;
drop table internal.invoice_state;
alter table internal.invoice_state_without_key rename to invoice_state;
