-- title: Possible duplicate charges
-- purpose: Audit, 4
-- grain: carrier, tracking number, currency
-- params: $limit integer = 100000: list at most this many rows of each partner and currency, the first in the report's order
-- means: Tracking numbers with more than one charge. The filters choose the numbers; all lines of a number are read. A
--   credit cancels one charge of the same amount. Charges that remain and have equal amounts or equal billed weights
--   are the same charge, also through others (A and B by amount, B and C by weight); a missing weight equals none. The
--   largest is right: `money_at_risk` is the sum of the others, less the credits that cancelled nothing. `kind` is "same charge again" when money is at risk, else "credit" or "adjustment".
-- order: currency; highest money_at_risk first; carrier; tracking_number
-- limits: Whether an adjustment is right is not known (see `adjustments`), nor whether a tracking number was used
--   again.
-- detail: first_ship_date, last_ship_date
-- chart: bar key=carrier+tracking_number value=money_at_risk
-- drilldown: shipments by carrier, tracking_number, currency_code
-- example: A was charged 12.50 on two invoices, so 12.50 are at risk. B was charged 5 twice and credited once, which
--   leaves one charge. C was charged 0.80 more for 3 lb.
--   lines: invoice_number | tracking_number | billable_weight | billing_cost
--   9 | A | 2 | 12.5
--   10 | A | 2 | 12.5
--   9 | B | 2 | 5
--   10 | B | 2 | 5
--   10 | B | 2 | -5
--   9 | C | 2 | 10
--   10 | C | 3 | 0.8
--   rows: tracking_number | scope | kind | same_amount | charged | credited | money_at_risk | invoice_numbers
--   A | across invoices | same charge again | true | 25.0000 | 0.0000 | 12.5000 | 10, 9
--   B | across invoices | credit | false | 10.0000 | -5.0000 | 0.0000 | 10, 9
--   C | across invoices | adjustment | false | 10.8000 | 0.0000 | 0.0000 | 10, 9
with lines as materialized (
    select
        s.carrier,
        s.tracking_number,
        s.currency_code,
        s.billing_cost,
        s.tenant,
        s.ship_date,
        s.invoice_id,
        s.invoice_number,
        s.row_number,
        s.invoice_generation_date,
        s.billable_weight,
        s.billable_weight_unit
    from loaded_shipments as s
    semi join repeated_marks('loaded_shipments') as r on r.mark = mark_of(s.tracking_number)
    where s.billing_cost <> 0
    qualify
        count(*) filter (where s.billing_cost > 0)
            over (partition by s.carrier, s.tracking_number, s.currency_code) > 1
        and bool_or(s.is_examined) over (partition by s.carrier, s.tracking_number, s.currency_code)
),
paired as (
    from paired_lines('lines')
),
charges as (
    select carrier, tracking_number, currency_code, sum(again) as again
    from (
        select carrier, tracking_number, currency_code, sum(billing_cost) - max(billing_cost) as again
        from paired
        where is_unpaired and billing_cost > 0
        group by carrier, tracking_number, currency_code, charge
    )
    group by all
),
numbers as (
    select
        carrier,
        tracking_number,
        currency_code,
        count(*) as lines,
        count(*) filter (where is_unpaired and billing_cost > 0) as unpaired_charges,
        count(distinct billing_cost) filter (where is_unpaired and billing_cost > 0) as distinct_charges,
        count(distinct invoice_id) as invoices,
        count(distinct tenant) as tenants,
        sum(billing_cost) filter (where billing_cost > 0) as charged,
        coalesce(sum(billing_cost) filter (where billing_cost < 0), 0) as credited,
        coalesce(sum(billing_cost) filter (where is_unpaired and billing_cost < 0), 0) as unpaired_credits,
        min(ship_date) as first_ship_date,
        max(ship_date) as last_ship_date,
        string_agg(distinct invoice_number, ', ' order by invoice_number) as invoice_numbers,
        string_agg(distinct tenant, ', ' order by tenant) as tenant_names
    from paired
    group by all
),
rated as (
    select n.*, greatest(coalesce(c.again, 0) + n.unpaired_credits, 0) as money_at_risk
    from numbers as n
    left join charges as c
        on c.carrier = n.carrier and c.tracking_number = n.tracking_number and c.currency_code = n.currency_code
)
select
    carrier,
    tracking_number,
    currency_code,
    case when tenants > 1 then 'across tenants' when invoices > 1 then 'across invoices' else 'within an invoice' end
        as scope,
    case when money_at_risk > 0 then 'same charge again' when credited < 0 then 'credit' else 'adjustment' end as kind,
    distinct_charges < unpaired_charges as same_amount,
    lines,
    charged,
    credited,
    money_at_risk,
    first_ship_date,
    last_ship_date,
    invoice_numbers,
    tenant_names
from rated
qualify row_number() over (
    partition by currency_code order by money_at_risk desc, carrier, tracking_number
) <= $limit
order by currency_code, money_at_risk desc, carrier, tracking_number
