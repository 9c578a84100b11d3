-- title: What the rows of one load amount to, in each currency
-- grain: currency
select currency_code, count(*) as shipments, sum(billing_cost)::decimal(38, 4) as billing_cost
from shipment_rows
where load_id = try_cast($load as integer)
group by currency_code
order by currency_code
