-- A small file, or one that a stage would not fit in memory for: read, checked, cast and inserted in one pass.
-- The first bad row ends it; csv-parse then says what was wrong.
insert into shipment_rows
select
    $load_id::integer,
    case when row_is_good then file_row::integer else error('row ' || file_row || ' breaks a rule') end,
    tenant, invoice_generation_date, ship_date, origin, currency_code, billing_cost, billable_weight, billable_weight_unit,
    tracking_number, carrier, carrier_zone, carrier_invoice_date, service_level
from (
    select row_number() over () as file_row, *
    from checked_csv($csv_path, $invoice_id, $in_parallel::boolean)
)
