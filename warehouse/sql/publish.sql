-- name: insert-publication
-- Describes the copy for readers; written right before CHECKPOINT and copy. Its number is above all previous ones and those
-- of the kept copies ($above).
insert into publication_log
-- Fast path: most invoices have exactly one load, so the sum over all loads is corrected for the other invoices. If the
-- counts do not match, all loads are joined, as a reader does.
with others as materialized (
    select invoice_id, current_load_id, voided_at
    from invoice_state
    where not ((versions = 1 and current_load_id is not null and voided_at is null) or (versions = 0 and current_load_id is null))
),
counted as (
    select
        (select count(*) from invoice_state) as invoices,
        (select count(*) from invoice_state where current_load_id is not null and voided_at is null) as loaded_invoices,
        (select count(*) from others where current_load_id is not null and voided_at is null) as loaded_others,
        (select count(*) from event_ledger) as events,
        (select max(load_id) from loads) as last_load_id,
        (select max(received_at) from event_ledger) as last_event_received_at
),
summed as (
    select
        (select count(*) from loads) - of_others.loads as loads,
        (select coalesce(sum(shipments), 0) from loads) - of_others.shipments + of_current.shipments as shipments
    from (select count(*) as loads, coalesce(sum(shipments), 0) as shipments from loads
        where invoice_id in (select invoice_id from others)) as of_others,
        (select coalesce(sum(shipments), 0) as shipments from loads
        where load_id in (select current_load_id from others where voided_at is null)) as of_current
),
joined as (
    select coalesce(sum(l.shipments), 0) as shipments
    from (select current_load_id from invoice_state where voided_at is null) as i
    join loads as l on l.load_id = i.current_load_id
    where (select s.loads <> c.loaded_invoices - c.loaded_others from summed as s, counted as c)
)
select
    greatest(coalesce((select max(sequence) from publication_log), 0), $above::integer) + 1,
    $published_at::timestamp,
    c.invoices,
    c.loaded_invoices,
    case when s.loads = c.loaded_invoices - c.loaded_others then s.shipments else j.shipments end,
    c.events,
    c.last_load_id,
    c.last_event_received_at
from counted as c, summed as s, joined as j

-- name: last-publication
select sequence, invoices::double as invoices, shipments::double as shipments, iso(published_at) as published_at
from publication_log
where sequence = (select max(sequence) from publication_log)

-- name: publication-proof
-- Must return the same for the warehouse and the copy. stored_rows is from the row groups, recorded_rows from the loads, so
-- that a copy with lost blocks differs.
select
    (select max(sequence) from publication_log) as sequence,
    (select count(*) from shipment_rows) as stored_rows,
    (select coalesce(sum(shipments), 0) from loads) as recorded_rows,
    (select count(*) from loads) as loads,
    (select count(*) from event_ledger) as events,
    (select count(*) from invoice_state) as invoices,
    (select bit_xor(hash(invoice_id, state, current_load_id)) from invoice_state) as states

-- name: trim-publications
-- A line per publication for ever would be millions; the last thousand tell enough.
delete from publication_log where sequence <= (select max(sequence) from publication_log) - 1000
