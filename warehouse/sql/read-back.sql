-- After COMMIT: a commit behind a failed statement answers without an error and stores nothing, so we look.
select
    (select count(*) from loads where load_id = $load_id::integer) as loads,
    (select count(*) from shipment_rows where load_id = $load_id::integer) as shipments
