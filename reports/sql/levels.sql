-- title: Tenant-level and partner-level invoices compared
-- purpose: Health, 5
-- grain: month of the reported date, carrier, currency
-- reads: levels
-- means: Compares tenant-level and partner-level invoices by carrier, tracking number and currency, whatever the filter
--   by level; an unknown level counts as tenant level. `difference` is partner level less tenant level. The last three
--   columns count tracking numbers. A number belongs to the month of its earliest line.
-- order: currency; month; carrier
-- limits: A missing side may still be billed, and partner-level invoices may cover other days. Partner-level lines have
--   the partner's name, so a filter by tenant leaves them out.
-- drilldown: shipments by month, carrier, currency_code, level=all
-- example: A was billed to the tenant and to the partner at 5, B at 6 and 6.50, C to the tenant only.
--   invoices: invoice_number | invoice_level
--   T | tenant
--   P | partner
--   lines: invoice_number | tracking_number | billing_cost
--   T | A | 5
--   T | B | 6
--   T | C | 7
--   P | A | 5
--   P | B | 6.5
--   rows: tenant_level_cost | partner_level_cost | difference | only_at_tenant_level | only_at_partner_level | cost_differs
--   18.0000 | 11.5000 | -6.5000 | 1 | 0 | 1
with
-- Candidates for several lines are grouped by number; all others of a day, carrier and currency together.
numbers as (
    select
        s.carrier,
        s.currency_code,
        case when r.mark is null then s.report_date end as own_day,
        case when r.mark is not null then s.tracking_number end as tracking_number,
        min(s.report_date) as day,
        count(*) filter (where s.level <> 'partner') as tenant_lines,
        count(*) filter (where s.level = 'partner') as partner_lines,
        sum(s.billing_cost) filter (where s.level <> 'partner') as tenant_cost,
        sum(s.billing_cost) filter (where s.level = 'partner') as partner_cost
    from filtered_shipments as s
    left join repeated_marks('filtered_shipments') as r on r.mark = mark_of(s.tracking_number)
    group by all
),
counted as (
    select
        *,
        case when tracking_number is null then tenant_lines else least(tenant_lines, 1) end as tenant_numbers,
        case when tracking_number is null then partner_lines else least(partner_lines, 1) end as partner_numbers,
        tracking_number is not null and tenant_lines > 0 and partner_lines > 0 as is_on_both
    from numbers
)
select
    month_of(day) as month,
    carrier,
    currency_code,
    cast(sum(tenant_numbers) as bigint) as tenant_level_numbers,
    cast(sum(partner_numbers) as bigint) as partner_level_numbers,
    coalesce(sum(tenant_cost), 0) as tenant_level_cost,
    coalesce(sum(partner_cost), 0) as partner_level_cost,
    coalesce(sum(partner_cost), 0) - coalesce(sum(tenant_cost), 0) as difference,
    cast(sum(tenant_numbers) - count(*) filter (where is_on_both) as bigint) as only_at_tenant_level,
    cast(sum(partner_numbers) - count(*) filter (where is_on_both) as bigint) as only_at_partner_level,
    count(*) filter (where is_on_both and tenant_cost <> partner_cost) as cost_differs
from counted
group by month, carrier, currency_code
order by currency_code, month, carrier
