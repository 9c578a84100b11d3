-- Small files that are loaded together: read and checked once, before anybody waits for the transaction.
create or replace temp table staged_rows as
from numbered_files(from_json($files::json,
    '[{"load_id": "INTEGER", "csv_path": "VARCHAR", "invoice_id": "VARCHAR", "rows_before": "BIGINT"}]'))
