-- title: Do tenant-level and partner-level invoices bill the same shipments?
-- grain: month of the chosen date, carrier, currency
-- means: shipments are matched by carrier, tracking number and currency, whatever the level filter says. Lines of one
--   tracking number are summed on each side first. difference is partner level less tenant level; only_at_* and
--   cost_differs count tracking numbers. The month is the earliest date of the tracking number on either side.
-- cannot say: whether a missing side is still to come; partner-level invoices may be cut at other days. A tenant filter
--   asks for names, and partner-level lines carry the partner's.
-- units: tenant_level_cost money, partner_level_cost money, difference money
with pairs as (
    select
        carrier,
        currency_code,
        min(report_date) as day,
        sum(billing_cost) filter (where level <> 'partner') as tenant_cost,
        sum(billing_cost) filter (where level = 'partner') as partner_cost
    from filtered_shipments
    group by carrier, tracking_number, currency_code
)
select
    month_of(day) as month,
    carrier,
    currency_code,
    count(tenant_cost) as tenant_level_numbers,
    count(partner_cost) as partner_level_numbers,
    coalesce(sum(tenant_cost), 0) as tenant_level_cost,
    coalesce(sum(partner_cost), 0) as partner_level_cost,
    coalesce(sum(partner_cost), 0) - coalesce(sum(tenant_cost), 0) as difference,
    count(*) filter (where partner_cost is null) as only_at_tenant_level,
    count(*) filter (where tenant_cost is null) as only_at_partner_level,
    count(*) filter (where tenant_cost <> partner_cost) as cost_differs
from pairs
group by month, carrier, currency_code
order by currency_code, month, carrier
