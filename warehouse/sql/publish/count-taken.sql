-- The loads that were taken, their rows, and all rows.
select
    count(*)::double as loads,
    coalesce(sum(shipments), 0)::double as rows,
    (select count(*) from shipment_rows)::double as all_rows
from unlooked_loads
