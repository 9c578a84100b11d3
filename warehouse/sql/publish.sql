-- name: insert-publication
-- Written right before CHECKPOINT and copy. Its number is above all previous ones and that of the published copy ($above).
insert into publication_log
select
    greatest(coalesce((select max(sequence) from publication_log), 0), $above::integer) + 1,
    $published_at::timestamp,
    (select count(*) from invoice_state),
    count(*),
    coalesce(sum(l.shipments), 0),
    (select count(*) from event_ledger),
    (select max(load_id) from loads),
    (select max(received_at) from event_ledger),
    least((select max(load_id) from loads), $recorded_to::integer)
from (select current_load_id from invoice_state where voided_at is null) as i
join loads as l on l.load_id = i.current_load_id

-- name: last-publication
select sequence, invoices::double as invoices, shipments::double as shipments, iso(published_at) as published_at
from publication_log
where sequence = (select max(sequence) from publication_log)

-- name: publication-proof
-- stored_rows is from the row groups, recorded_rows from the loads, so that a copy with lost blocks differs.
select
    (select max(sequence) from publication_log) as sequence,
    (select count(*) from shipment_rows) as stored_rows,
    (select coalesce(sum(shipments), 0) from loads) as recorded_rows,
    (select count(*) from loads) as loads,
    (select count(*) from event_ledger) as events,
    (select count(*) from invoice_state) as invoices,
    (select bit_xor(hash(invoice_id, state, current_load_id)) from invoice_state) as states

-- name: trim-publications
delete from publication_log where sequence <= (select max(sequence) from publication_log) - 1000
