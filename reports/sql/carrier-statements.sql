-- title: Reconciliation with carrier statements
-- purpose: Month end, 1
-- grain: carrier (in upper or lower case), carrier invoice date, currency
-- source: statements
-- means: Billed cost by the carrier's invoice date, compared with the carrier's own statement (`--statements FILE`).
--   `difference` is `billing_cost` less `stated_amount`. `state` is "agrees", "differs", "not stated" (the statement
--   has no such line) or "not billed" (no line was billed). A statement has no ship dates, tenants, zones or levels:
--   compare whole statements without these filters.
-- order: currency; carrier; carrier_invoice_date (none last)
-- limits: Invoices of a carrier with the same date are not separated. A markup between the carrier and you is part of
--   every difference.
-- chart: bar key=carrier value=billing_cost combine=sum
-- drilldown: shipments by carrier as carrier_in_any_case, carrier_invoice_date, currency_code; totals
-- example: UPS states 30 for 6 March and 5 for 13 March. 10 and 19 were billed with the first date, nothing with the
--   second.
--   lines: carrier_invoice_date | tracking_number | billing_cost
--   2026-03-06 | A | 10
--   2026-03-06 | B | 19
--   | C | 4
--   statements: carrier | carrier_invoice_date | currency_code | amount
--   UPS | 2026-03-06 | USD | 30
--   UPS | 2026-03-13 | USD | 5
--   rows: carrier | carrier_invoice_date | packages | billing_cost | stated_amount | difference | state
--   ups | 2026-03-06 | 2 | 29.0000 | 30.0000 | -1.0000 | differs
--   ups | 2026-03-13 | 0 | 0.0000 | 5.0000 | -5.0000 | not billed
--   ups | | 1 | 4.0000 | | | not stated
with billed as (
    select
        lower(carrier) as name,
        min(carrier) as carrier,
        carrier_invoice_date,
        currency_code,
        count(distinct invoice_id) as invoices,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        credits_of(billing_cost) as credits
    from selected_shipments
    group by name, carrier_invoice_date, currency_code
),
repeated as (
    select
        lower(carrier) as name,
        carrier_invoice_date,
        currency_code,
        count(*) - count(distinct tracking_number) as repeats
    from selected_shipments
    where tracking_number in (select tracking_number from repeated_lines)
    group by all
),
stated as (
    select
        lower(carrier) as name, min(carrier) as carrier, carrier_invoice_date, currency_code, sum(amount) as amount
    from statements
    where matches_carrier_in_file(carrier) and matches_currency(currency_code)
    group by name, carrier_invoice_date, currency_code
),
names as (
    select name, coalesce(min(carrier) filter (where is_ours), min(carrier)) as carrier
    from (
        select name, carrier, true as is_ours from billed
        union all
        select name, carrier, false from stated
    )
    group by all
)
select
    n.carrier,
    coalesce(b.carrier_invoice_date, s.carrier_invoice_date) as carrier_invoice_date,
    coalesce(b.currency_code, s.currency_code) as currency_code,
    coalesce(b.invoices, 0) as invoices,
    coalesce(b.shipments, 0) as shipments,
    coalesce(packages_of(b.shipments, r.repeats), 0) as packages,
    coalesce(b.billing_cost, 0) as billing_cost,
    coalesce(b.credits, 0) as credits,
    s.amount as stated_amount,
    coalesce(b.billing_cost, 0) - s.amount as difference,
    case
        when b.carrier is null then 'not billed'
        when s.amount is null then 'not stated'
        when b.billing_cost = s.amount then 'agrees'
        else 'differs'
    end as state
from billed as b
full join stated as s
    on s.name = b.name and s.carrier_invoice_date = b.carrier_invoice_date and s.currency_code = b.currency_code
left join repeated as r
    on r.name = b.name and r.carrier_invoice_date is not distinct from b.carrier_invoice_date and r.currency_code = b.currency_code
join names as n on n.name = coalesce(b.name, s.name)
order by currency_code, n.carrier, carrier_invoice_date nulls last
