-- load-totals.sql of the rows that are about to go into the lake.
select
    load_id,
    currency_code,
    count(*)::integer as shipments,
    sum(billing_cost)::decimal(38, 4) as billing_cost,
    min(ship_date) as first_ship_date,
    max(ship_date) as last_ship_date,
    min(row_number) as first_row,
    max(row_number) as last_row,
    min(tenant) as tenant
from batched_shipments
group by load_id, currency_code
order by load_id, currency_code
