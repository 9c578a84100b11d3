-- The same without conditions, of what the publication noted (ADR 32): for filters that take whole months, and no zones.
select
    invoice_level as level,
    invoice_id,
    partner_id,
    currency_code,
    unit,
    cast(sum(shipments) as bigint) as shipments,
    cast(sum(weighed) as bigint) as weighed,
    sum(billing_cost) as billing_cost,
    sum(credits) as credits,
    sum(weight) as weight
from base_months
where passes_filters(tenant_id, tenant, carrier, null, currency_code, ship_month, invoice_month)
group by all
