-- name: insert-batch
insert into shipment_rows by name
select * exclude (row_is_good) from staged_rows where load_id in (select unnest($load_ids::integer[]))

-- name: insert-chunks
insert into shipment_rows by name
from numbered_chunks($load_id::integer, $folder, $chunks::integer, $invoice_id, specified_columns())

-- name: insert-one-pass
insert into shipment_rows by name
from numbered_csv($load_id::integer, $csv_path, $invoice_id)

-- name: insert-tolerated
insert into shipment_rows by name
from numbered_chunks($load_id::integer, $folder, $chunks::integer, $invoice_id, tolerated_columns())

-- name: stored-loads
select distinct load_id from shipment_rows where load_id between $first::integer and $last::integer

-- name: owned-loads
-- For DuckDB and PostgreSQL.
select load_id from loads where load_id in (select unnest(string_to_array($load_ids, ',')::integer[])) order by load_id

-- name: remove-rows
delete from shipment_rows where load_id in (select unnest($load_ids::integer[]))

-- name: load-known
-- Files of these that need no load; the transaction checks again. For DuckDB and PostgreSQL.
select a.invoice_id::text as invoice_id, a.file_sha256, i.voided_at is not null as is_voided
from (
    select
        unnest(string_to_array($invoice_ids, ',')::uuid[]) as invoice_id,
        unnest(string_to_array($file_sha256s, ',')) as file_sha256
) as a
left join invoice_state as i on i.invoice_id = a.invoice_id
left join loads as l on l.invoice_id = a.invoice_id and l.file_sha256 = a.file_sha256
where i.voided_at is not null or l.load_id is not null

-- name: read-back
-- After COMMIT: a commit after a failed statement succeeds and stores nothing (hazard 9).
select load_id, sum(is_load)::integer as loads, sum(shipments)::integer as shipments
from (
    select load_id, 1 as is_load, 0 as shipments from loads where load_id between $first::integer and $last::integer
    union all
    select load_id, 0, count(*) from shipment_rows where load_id between $first::integer and $last::integer group by load_id
)
group by load_id

-- name: stage-batch
create or replace temp table staged_rows as
from numbered_files(from_json($files::json,
    '[{"load_id": "INTEGER", "csv_path": "VARCHAR", "invoice_id": "VARCHAR", "rows_before": "BIGINT"}]'))

-- name: stage-chunks
create or replace temp table staged_rows as
from numbered_chunks($load_id::integer, $folder, $chunks::integer, $invoice_id, specified_columns())

-- name: stage-one-pass
create or replace temp table staged_rows as
from numbered_csv($load_id::integer, $csv_path, $invoice_id)

-- name: stage-tolerated
create or replace temp table staged_rows as
from numbered_chunks($load_id::integer, $folder, $chunks::integer, $invoice_id, tolerated_columns())
