-- The rows of all loads, in Parquet files. Appended by load; every file knows its lowest and highest load_id, so a
-- load's rows are found without reading the others. DuckLake knows no keys: what counts is decided in the ledgers.
create table if not exists lake.main.shipment_rows (
    load_id integer not null,
    row_number integer not null,
    {{table columns}},
    added_columns varchar
)
