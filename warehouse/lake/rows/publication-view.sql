-- A lake is read as it is now, so its publication tells of now; the sequence moves with what was published to readers.
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
