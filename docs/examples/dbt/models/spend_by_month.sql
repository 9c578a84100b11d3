select
    ship_month,
    partner_id,
    tenant_id,
    -- A label: a tenant that was renamed keeps its id, and the latest name is in the view of tenants.
    max_by(tenant, ship_date) as tenant,
    carrier,
    currency_code,
    count(*) as shipments,
    count(*) filter (where is_package) as packages,
    sum(billing_cost) as billing_cost,
    coalesce(sum(billing_cost) filter (where billing_cost < 0), 0) as credits,
    sum(pounds) as pounds
from {{ ref('stg_billsync__shipments') }}
group by ship_month, partner_id, tenant_id, carrier, currency_code
