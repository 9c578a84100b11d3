-- title: Margin over own cost
-- purpose: Spend, 9
-- grain: tenant, carrier, currency
-- source: costs
-- means: Billed cost compared with your own cost (`--costs FILE`) by carrier, tracking number and currency.
--   `covered_cost`, `own_cost` and `margin` are of the numbers that have an own cost (`covered_numbers`). The own cost
--   of a number that several tenants were billed for is divided in proportion to what each was billed.
-- order: currency; highest margin first; tenant; carrier
-- limits: Tracking numbers without an own cost are not covered; without a file none is.
-- units: coverage_percent %, margin_percent %
-- chart: bar key=tenant+carrier value=margin
-- drilldown: shipments by tenant, carrier, currency_code; billing_cost, tracking_numbers=packages
-- example: A was billed to Acme for 9 and to Beta for 3, and costs us 8: Acme bears 6 and Beta 2. For B no cost is
--   known.
--   lines: invoice_number | tenant | tracking_number | billing_cost
--   1 | Acme | A | 9
--   2 | Beta | A | 3
--   1 | Acme | B | 5
--   costs: carrier | tracking_number | currency_code | cost
--   ups | A | USD | 8
--   rows: tenant | tracking_numbers | covered_numbers | covered_cost | own_cost | margin | margin_percent
--   Acme | 2 | 1 | 9.0000 | 6.0000 | 3.0000 | 33.33
--   Beta | 1 | 1 | 3.0000 | 2.0000 | 1.0000 | 33.33
with own as (
    select lower(carrier) as carrier_key, tracking_number, currency_code, sum(cost) as cost from costs group by all
),
looked_up as (
    from repeated_marks('selected_shipments')
    union
    select mark_of(tracking_number) from own
),
-- Only candidates for several lines, and numbers with a cost, are grouped by number.
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
-- A share is the running total less the running total before it, so that rounding loses nothing.
shares as (
    select
        n.tenant,
        n.carrier,
        o.*,
        sum(greatest(n.billed, 0)) over number as billed_to_all,
        sum(greatest(n.billed, 0)) over (number order by n.tenant, n.carrier rows unbounded preceding) as billed_so_far,
        greatest(n.billed, 0) as billed,
        row_number() over (number order by n.tenant, n.carrier) as place
    from own as o
    join numbers as n
        on lower(n.carrier) = o.carrier_key and n.tracking_number = o.tracking_number and n.currency_code = o.currency_code
    window number as (partition by o.carrier_key, o.tracking_number, o.currency_code)
),
covered as (
    select
        tenant,
        carrier,
        tracking_number,
        currency_code,
        case
            when billed_to_all > 0
                then as_amount(
                    rounded_quotient(ten_thousandths(cost) * ten_thousandths(billed_so_far), ten_thousandths(billed_to_all))
                    - rounded_quotient(
                        ten_thousandths(cost) * ten_thousandths(billed_so_far - billed), ten_thousandths(billed_to_all)
                    )
                )
            when place = 1 then cost
            else 0
        end as cost
    from shares
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
