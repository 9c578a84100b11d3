-- The publication in this file: its time and contents.
create or replace view publication as
select
    sequence, published_at at time zone 'UTC' as published_at, invoices, loaded_invoices, shipments, events, last_load_id,
    last_event_received_at at time zone 'UTC' as last_event_received_at
from internal.publication_log
where sequence = (select max(sequence) from internal.publication_log);
