-- The copies that are missing. Of few rows those of others are passed over by their load.
insert into repeated_copies by name
select
    r.load_id, r.row_number, r.tenant, r.invoice_generation_date, r.ship_date, r.origin, r.currency_code,
    r.billable_weight, r.billable_weight_unit, r.tracking_number, r.carrier, r.carrier_zone, r.service_level
from shipment_rows as r
semi join (
    select load_id, row_number from repeated_rows
    except
    select load_id, row_number from repeated_copies
) as n on n.load_id = r.load_id and n.row_number = r.row_number
