-- Loads whose fact the archive may lack: their writer died, or is about to tell.
select
    load_id, invoice_id::text as invoice_id, version, file_sha256, file_source, announced_sha256, event_id, workflow_run_id,
    shipments::float8 as shipments, billing_cost::text as billing_cost, iso(loaded_at) as loaded_at,
    encoded_sha256, is_denied, is_damaged
from loads
where not is_recorded
order by load_id
