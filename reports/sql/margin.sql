-- title: What is left between what was billed and what it cost us?
-- grain: tenant, carrier, currency
-- source: costs
-- means: the lines of a tracking number are summed and set against the lines of the costs table (--costs FILE) of the
--   same carrier, number and currency. margin is billed less own cost, over the numbers that have a cost.
-- cannot say: without a costs table every number counts as uncovered. A number billed to two tenants has its cost set
--   against the first of them by name.
-- units: coverage_percent %, billing_cost money, covered_cost money, own_cost money, margin money, margin_percent %
-- chart: bar key=tenant+carrier value=margin
with own as (
    select carrier, tracking_number, currency_code, sum(cost) as cost from costs group by all
),
-- Only numbers of several lines and those that have a cost are grouped by number. Lines whose mark no other line has are
-- of one line; of two numbers with the same mark nothing is believed, they are only looked at more closely.
marked as (
    select mark_of(tracking_number) as mark from selected_shipments
),
looked_up as (
    select mark from (select mark, lag(mark) over (order by mark) as mark_before from marked) where mark = mark_before
    union
    select mark_of(tracking_number) from own
),
-- A marked number by itself; all others of a tenant, carrier and currency together, without their numbers.
numbers as (
    select
        s.tenant,
        s.carrier,
        s.currency_code,
        case when m.mark is not null then s.tracking_number end as tracking_number,
        count(*) as lines,
        sum(s.billing_cost) as billed
    from selected_shipments as s
    left join looked_up as m on m.mark = mark_of(s.tracking_number)
    group by all
),
-- The cost of a number that was billed to two tenants is set against the first of them only.
covered as (
    select o.*, n.tenant
    from own as o
    join (
        select carrier, tracking_number, currency_code, min(tenant) as tenant
        from numbers
        where tracking_number is not null
        group by all
    ) as n
        on n.carrier = o.carrier and n.tracking_number = o.tracking_number and n.currency_code = o.currency_code
),
counted as (
    select
        n.tenant,
        n.carrier,
        n.currency_code,
        cast(sum(case when n.tracking_number is null then n.lines else 1 end) as bigint) as tracking_numbers,
        count(o.cost) as covered_numbers,
        sum(n.billed) as billed,
        sum(n.billed) filter (where o.cost is not null) as covered,
        sum(o.cost) as own_cost,
        sum(n.billed - o.cost) as margin
    from numbers as n
    left join covered as o
        on o.tenant = n.tenant and o.carrier = n.carrier and o.tracking_number = n.tracking_number
        and o.currency_code = n.currency_code
    group by n.tenant, n.carrier, n.currency_code
)
select
    tenant,
    carrier,
    currency_code,
    tracking_numbers,
    covered_numbers,
    percent_of(covered_numbers, tracking_numbers) as coverage_percent,
    billed as billing_cost,
    coalesce(covered, 0) as covered_cost,
    coalesce(own_cost, 0) as own_cost,
    coalesce(margin, 0) as margin,
    percent_of(margin, covered) as margin_percent
from counted
order by currency_code, coalesce(margin, 0) desc, tenant, carrier
