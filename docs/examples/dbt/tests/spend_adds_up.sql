-- Every cent of the published lines is in the months, and none twice: a row here is a currency that differs.
with published as (
    select currency_code, count(*) as shipments, sum(billing_cost) as billing_cost
    from {{ source('billsync', 'tenant_shipments') }}
    group by currency_code
),
summed as (
    select currency_code, sum(shipments) as shipments, sum(billing_cost) as billing_cost
    from {{ ref('spend_by_month') }}
    group by currency_code
)
select currency_code, p.billing_cost as published, s.billing_cost as summed
from published as p
full join summed as s using (currency_code)
where p.billing_cost is distinct from s.billing_cost or p.shipments is distinct from s.shipments
