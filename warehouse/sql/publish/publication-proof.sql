-- What a copy holds, told by its own tables: the same statement on the warehouse and on the copy must answer the same.
-- stored_rows reads the row groups' counts, told_rows the loads' lines: a copy that lost blocks differs.
select
    (select max(sequence) from publication_log) as sequence,
    (select count(*) from shipment_rows) as stored_rows,
    (select coalesce(sum(shipments), 0) from loads) as told_rows,
    (select count(*) from loads) as loads,
    (select count(*) from event_ledger) as events,
    (select count(*) from invoice_state) as invoices,
    (select bit_xor(hash(invoice_id, state, current_load_id)) from invoice_state) as states
