-- The rows of all loads, in Parquet files. Appended by load; every file knows its lowest and highest load_id, so a
-- load's rows are found without reading the others. DuckLake knows no keys: what counts is decided in the ledgers.
create table if not exists lake.main.shipment_rows (
    load_id integer not null,
    row_number integer not null,
    tenant varchar not null,
    invoice_generation_date date not null,
    ship_date date not null,
    origin varchar,
    currency_code varchar not null,
    billing_cost decimal(18, 4) not null,
    billable_weight decimal(18, 4),
    billable_weight_unit varchar,
    tracking_number varchar not null,
    carrier varchar not null,
    carrier_zone varchar,
    carrier_invoice_date date,
    service_level varchar,
    added_columns varchar
)
