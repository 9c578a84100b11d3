-- The base tables under the names that warehouse/views/ asks for.
create or replace view shipment_rows as select * from lake.main.shipment_rows;
create or replace view event_ledger as select * from ledger.event_ledger;
create or replace view duplicate_ledger as select * from ledger.duplicate_ledger;
create or replace view details_ledger as select * from ledger.details_ledger;
create or replace view attention_ledger as select * from ledger.attention_ledger;
create or replace view file_ledger as select * from ledger.file_ledger;
create or replace view loads as select * exclude (is_recorded) from ledger.loads;
create or replace view invoice_state as select * from ledger.invoice_state;
create or replace view discrepancy_lines as select * from ledger.discrepancy_lines;
create or replace view publication_log as select * from ledger.publication_log;
create or replace view ingest_cursors as select * from ledger.ingest_cursors;
create or replace view set_aside as select * from ledger.set_aside;
create or replace view verification_log as select * from ledger.verification_log;
create or replace view ask_log as select * from ledger.ask_log;
-- A lake has many writers and notes no repeated rows; readers find them by themselves.
create or replace view repeated_rows as select null::integer as load_id, null::integer as row_number where false;
create or replace view repeated_copies as select * from lake.main.shipment_rows where false;
create or replace view package_loads as select null::integer as load_id, null::boolean as is_partner where false;
