select date_trunc('month', ship_date) as month, currency_code, sum(billing_cost) as billing_cost
from read_parquet('sources/billsync/published/shipments/**/*.parquet')
where invoice_level <> 'partner'
group by all
order by all
