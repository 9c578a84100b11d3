-- Loads that a crash may have kept from being told to the archive: those after the last publication, since a
-- publication waits until every fact is written.
select
    load_id, invoice_id::varchar as invoice_id, version, file_sha256, file_source, announced_sha256, event_id, workflow_run_id,
    shipments::double as shipments, billing_cost::varchar as billing_cost, iso(loaded_at) as loaded_at,
    encoded_sha256, is_denied, is_damaged
from loads
where load_id > coalesce((select max(last_load_id) from publication_log), 0)
order by load_id
