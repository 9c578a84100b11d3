-- title: Which shipments were charged more than once?
-- purpose: Audit, 4
-- grain: carrier, tracking number, currency
-- params: $limit integer = 100000: list at most this many rows of each partner, the first in the report's order
-- means: all lines of a carrier's tracking number in one currency (as the files write both, within the filters) are
--   read together, within and across invoices and tenants; lines of zero are left out. charged is the sum of the lines
--   above zero, credited that of the credits. Each credit cancels one charge of exactly its amount. Of the charges
--   that remain the largest is taken as the right one, and money_at_risk is the sum of the others less the credits
--   that cancelled nothing. A number is listed if more than one charge remains and money_at_risk is above zero.
--   same_amount says whether two of the remaining charges are equal. scope is "across tenants" if these lines are of
--   more than one tenant (told apart by id), else "across invoices" if they are of more than one invoice (told apart
--   by id too), else "within an invoice". lines counts all lines read; invoice_numbers and tenant_names list what they
--   have, each once, in the order of text and with ", " between.
-- order: currency; highest money_at_risk first; carrier; tracking_number
-- cannot say: whether a second, different charge is an adjustment (see "adjustments") or a tracking number used
--   again. It shows where to look.
-- units: charged money, credited money, money_at_risk money
-- detail: first_ship_date, last_ship_date
-- chart: bar key=carrier+tracking_number value=money_at_risk
-- leads: shipments by carrier, tracking_number, currency_code
-- example: A was charged 12.50 on two invoices, so 12.50 are at risk. B was charged 5 twice and credited once, which leaves
--   one rightful charge.
--   lines: invoice_number | tracking_number | billing_cost
--   9 | A | 12.5
--   10 | A | 12.5
--   9 | B | 5
--   10 | B | 5
--   10 | B | -5
--   rows: tracking_number | scope | same_amount | charged | credited | money_at_risk | invoice_numbers
--   A | across invoices | true | 25.0000 | 0.0000 | 12.5000 | 10, 9
with
-- Where two lines have the same mark, their numbers are compared; all other lines are the only ones of their number.
marked as (
    select mark_of(tracking_number) as mark from selected_shipments where billing_cost > 0
),
repeated as (
    select distinct mark from (select mark, lag(mark) over (order by mark) as mark_before from marked) where mark = mark_before
),
lines as materialized (
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
        row_number() over (
            partition by s.carrier, s.tracking_number, s.currency_code, s.billing_cost
            order by s.invoice_id, s.row_number
        ) as place
    from selected_shipments as s
    semi join repeated as r on r.mark = mark_of(s.tracking_number)
    where s.billing_cost <> 0
    qualify
        count(*) filter (where s.billing_cost > 0)
            over (partition by s.carrier, s.tracking_number, s.currency_code) > 1
),
counts as (
    select carrier, tracking_number, currency_code, billing_cost, count(*) as n from lines group by all
),
remaining as (
    select
        l.*,
        coalesce(l.place > o.n, true) as is_unpaired
    from lines as l
    left join counts as o
        on o.carrier = l.carrier and o.tracking_number = l.tracking_number and o.currency_code = l.currency_code
        and o.billing_cost = -l.billing_cost
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
        sum(billing_cost) filter (where is_unpaired and billing_cost > 0)
            - max(billing_cost) filter (where is_unpaired and billing_cost > 0)
            + coalesce(sum(billing_cost) filter (where is_unpaired and billing_cost < 0), 0) as money_at_risk,
        min(ship_date) as first_ship_date,
        max(ship_date) as last_ship_date,
        string_agg(distinct invoice_number, ', ' order by invoice_number) as invoice_numbers,
        string_agg(distinct tenant, ', ' order by tenant) as tenant_names
    from remaining
    group by all
)
select
    carrier,
    tracking_number,
    currency_code,
    case when tenants > 1 then 'across tenants' when invoices > 1 then 'across invoices' else 'within an invoice' end
        as scope,
    distinct_charges < unpaired_charges as same_amount,
    lines,
    charged,
    credited,
    money_at_risk,
    first_ship_date,
    last_ship_date,
    invoice_numbers,
    tenant_names
from numbers
where unpaired_charges > 1 and money_at_risk > 0
order by currency_code, money_at_risk desc, carrier, tracking_number
limit $limit
