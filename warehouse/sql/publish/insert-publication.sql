-- The line that tells a reader what this copy contains; written right before CHECKPOINT and copy. Its number is above
-- every one before, and above those of the copies that are kept ($above).
insert into publication_log
select
    greatest(coalesce((select max(sequence) from publication_log), 0), $above::integer) + 1,
    $published_at::timestamp,
    (select count(*) from invoice_state),
    (select count(*) from invoice_state where current_load_id is not null and voided_at is null),
    (select coalesce(sum(l.shipments), 0) from invoice_state as i join loads as l on l.load_id = i.current_load_id
        where i.voided_at is null),
    (select count(*) from event_ledger),
    (select max(load_id) from loads),
    (select max(received_at) from event_ledger)
