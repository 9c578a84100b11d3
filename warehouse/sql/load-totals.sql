-- What a load holds, per currency, as the rows themselves say it.
select
    currency_code,
    count(*)::integer as shipments,
    sum(billing_cost)::decimal(38, 4) as billing_cost,
    min(ship_date) as first_ship_date,
    max(ship_date) as last_ship_date,
    min(row_number) as first_row,
    max(row_number) as last_row,
    min(tenant) as tenant
from shipment_rows
where load_id = $load_id::integer
group by currency_code
order by currency_code
