-- name: base-views
create schema if not exists internal;
create or replace view internal.shipment_rows as select * from lake.main.shipment_rows;
create or replace view internal.event_ledger as select * from ledger.event_ledger;
create or replace view internal.duplicate_ledger as select * from ledger.duplicate_ledger;
create or replace view internal.details_ledger as select * from ledger.details_ledger;
create or replace view internal.attention_ledger as select * from ledger.attention_ledger;
create or replace view internal.file_ledger as select * from ledger.file_ledger;
create or replace view internal.loads as select * exclude (is_recorded) from ledger.loads;
create or replace view internal.invoice_state as select * from ledger.invoice_state;
create or replace view internal.discrepancy_lines as select * from ledger.discrepancy_lines;
create or replace view internal.publication_log as select * from ledger.publication_log;
create or replace view internal.ingest_cursors as select * from ledger.ingest_cursors;
create or replace view internal.set_aside as select * from ledger.set_aside;
create or replace view internal.verification_log as select * from ledger.verification_log;
create or replace view internal.service_checks as select * from ledger.service_checks;

-- name: create-rows
-- Statistics of a file have its lowest and highest load_id, so the rows of a load are found without reading other files. DuckLake has no
-- keys: the ledgers decide what counts.
create table if not exists lake.main.shipment_rows (
    load_id integer not null,
    row_number integer not null,
    {{table columns}},
    added_columns varchar
)

-- name: leftover-loads
select distinct r.load_id
from lake.main.shipment_rows as r
anti join ledger.loads as l on l.load_id = r.load_id
order by r.load_id

-- name: mark-verified
insert into ledger.verification_log select unnest($load_ids::integer[]), $verified_at::timestamp

-- name: publication-view
-- A lake is read in its current state, so its publication has the current time.
create or replace view publication as
select
    coalesce((select max(sequence) from internal.publication_log), 0)::integer as sequence,
    date_trunc('millisecond', now()) as published_at,
    (select count(*) from internal.invoice_state) as invoices,
    (select count(*) from internal.invoice_state where current_load_id is not null and voided_at is null) as loaded_invoices,
    (select coalesce(sum(l.shipments), 0) from internal.invoice_state as i join internal.loads as l on l.load_id = i.current_load_id
        where i.voided_at is null)::bigint as shipments,
    (select count(*) from internal.event_ledger) as events,
    (select max(load_id) from internal.loads) as last_load_id,
    (select max(received_at) from internal.event_ledger) at time zone 'UTC' as last_event_received_at;

-- name: small-files
select count(*)::integer as files
from ducklake_list_files('lake', 'shipment_rows')
where data_file_size_bytes < 16777216

-- name: written-files
-- The files to flush before the commit. The range may include loads of other writers, whose files may be flushed as well.
select distinct filename as path from lake.main.shipment_rows where load_id between $first::integer and $last::integer
