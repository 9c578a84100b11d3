-- Spend by month. Line: ship_month across, billing_cost up, a line for each currency_code.
select date_trunc('month', ship_date) as ship_month, currency_code, sum(billing_cost) as billing_cost
from tenant_shipments
where true
    [[and tenant = {{tenant}}]]
    [[and carrier = {{carrier}}]]
group by all
order by currency_code, ship_month
