-- Cost of each carrier, and its share. Bar: carrier across, billing_cost up; one currency at a time.
select
    carrier,
    currency_code,
    count(*) as shipments,
    sum(billing_cost) as billing_cost,
    round(100 * sum(billing_cost) / sum(sum(billing_cost)) over (partition by currency_code), 2) as share_of_cost
from tenant_shipments
where true
    [[and ship_date >= {{from}}]]
    [[and ship_date <= {{to}}]]
    [[and tenant = {{tenant}}]]
group by carrier, currency_code
order by currency_code, billing_cost desc, carrier
