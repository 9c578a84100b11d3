-- name: count-made
-- For DuckDB and PostgreSQL.
select
    (select count(*)::integer from invoice_state) as invoices,
    (select coalesce(sum(l.shipments), 0)::varchar from invoice_state as i join loads as l on l.load_id = i.current_load_id
        where i.voided_at is null) as shipments

-- name: highest-load
-- A load id must never be used twice. Only row groups above $above are read, normally none.
select greatest($above::integer, coalesce((select max(load_id) from shipment_rows where load_id > $above::integer), 0)) as load_id

-- name: loads-since
-- Loads whose fact a crash may have prevented.
select
    load_id, invoice_id::varchar as invoice_id, version, file_sha256, file_source, announced_sha256, event_id, workflow_run_id,
    shipments::double as shipments, billing_cost::varchar as billing_cost, iso(loaded_at) as loaded_at,
    encoded_sha256, is_denied, is_damaged
from loads
where load_id > coalesce((select max(recorded_to) from publication_log), 0)
order by load_id
