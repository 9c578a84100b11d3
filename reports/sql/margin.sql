-- title: What is left between what was billed and what it cost us?
-- grain: tenant, carrier, currency
-- source: costs
-- means: the lines of a tracking number are summed and set against the lines of the costs table (--costs FILE) of the
--   same carrier, number and currency. margin is billed less own cost, over the numbers that have a cost.
-- cannot say: without a costs table every number counts as uncovered. A number billed to two tenants has its cost set
--   against the first of them by name.
-- units: coverage_percent %, billing_cost money, covered_cost money, own_cost money, margin money, margin_percent %
-- chart: bar key=tenant+carrier value=margin
with numbers as (
    select
        tenant,
        carrier,
        tracking_number,
        currency_code,
        sum(billing_cost) as billed
    from selected_shipments
    group by tenant, carrier, tracking_number, currency_code
),
own as (
    select carrier, tracking_number, currency_code, sum(cost) as cost from costs group by all
),
-- The cost of a number that was billed to two tenants is set against the first of them only.
covered as (
    select o.*, n.tenant
    from own as o
    join (
        select n.carrier, n.tracking_number, n.currency_code, min(n.tenant) as tenant
        from numbers as n
        semi join own as o
            on o.carrier = n.carrier and o.tracking_number = n.tracking_number and o.currency_code = n.currency_code
        group by all
    ) as n
        on n.carrier = o.carrier and n.tracking_number = o.tracking_number and n.currency_code = o.currency_code
)
select
    n.tenant,
    n.carrier,
    n.currency_code,
    count(*) as tracking_numbers,
    count(o.cost) as covered_numbers,
    percent_of(count(o.cost), count(*)) as coverage_percent,
    sum(n.billed) as billing_cost,
    coalesce(sum(n.billed) filter (where o.cost is not null), 0) as covered_cost,
    coalesce(sum(o.cost), 0) as own_cost,
    coalesce(sum(n.billed - o.cost), 0) as margin,
    percent_of(sum(n.billed - o.cost), sum(n.billed) filter (where o.cost is not null)) as margin_percent
from numbers as n
left join covered as o
    on o.tenant = n.tenant and o.carrier = n.carrier and o.tracking_number = n.tracking_number
    and o.currency_code = n.currency_code
group by n.tenant, n.carrier, n.currency_code
order by n.currency_code, margin desc, n.tenant, n.carrier
