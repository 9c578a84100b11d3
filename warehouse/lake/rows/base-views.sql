-- The base tables under the names that warehouse/views/ asks for.
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
