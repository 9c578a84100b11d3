-- title: Invoice register
-- purpose: Month end, 4
-- grain: invoice, currency
-- reads: invoices
-- source: payments
-- params: $usual_of integer = 6: the usual total is the median of this many earlier invoices
--   $min_invoices integer = 3: with fewer earlier invoices there is no usual total
--   $unusual_percent integer = 50: a total that differs from the usual one by this many percent or more is unusual
-- means: Finalized invoices in each currency they bill, with their due date and open amount (payments as in
--   `payables`). `usual_total` is the median of the tenant's `usual_of` invoices before it, of the same level and
--   currency. `days_past_due` counts up to the publication. `cash_until_due` adds up the open amounts that are due by
--   that day.
-- order: currency; due_date (none last); invoice_number
-- limits: The reason for an unusual total is not known; a tenant may have shipped more. Only a file of payments shows
--   what was paid.
-- units: difference_percent %
-- detail: invoice_level, invoice_id
-- chart: bar key=due_date value=open_amount combine=sum
-- drilldown: invoice by invoice_id
-- example: After totals of 90, 100 and 120 the usual total is 100; an invoice of 250 is 150 above it. The first 90 are
--   paid, so 100 + 120 + 250 are needed by the end of April.
--   invoices: invoice_number | invoice_date | invoice_due_date
--   A | 2026-01-10 | 2026-02-10
--   B | 2026-02-10 | 2026-03-10
--   C | 2026-03-10 | 2026-04-10
--   D | 2026-04-10 | 2026-04-30
--   lines: invoice_number | billing_cost
--   A | 90
--   B | 100
--   C | 120
--   D | 250
--   payments: invoice_number | currency_code | amount
--   A | USD | 90
--   rows: invoice_number | total | usual_total | difference | difference_percent | is_unusual | open_amount | cash_until_due
--   A | 90.0000 | | | | | 0.0000 | 0.0000
--   B | 100.0000 | | | | | 100.0000 | 100.0000
--   C | 120.0000 | | | | | 120.0000 | 220.0000
--   D | 250.0000 | 100.0000 | 150.0000 | 150.00 | true | 250.0000 | 470.0000
with numbered as (
    select
        invoice_id,
        currency_code,
        total,
        coalesce(partner_id, '') as partner,
        coalesce(tenant_id, partner_tenant_id, tenant, '') as party,
        invoice_level,
        row_number() over (
            partition by coalesce(partner_id, ''), coalesce(tenant_id, partner_tenant_id, tenant, ''), invoice_level, currency_code
            order by invoice_date, invoice_number, invoice_id
        ) as place
    from invoice_totals
    where total is not null
),
usual as (
    select n.invoice_id, n.currency_code, case when count(*) >= $min_invoices then twice_median_of(b.total) end as twice_usual
    from numbered as n
    join numbered as b
        on b.partner = n.partner and b.party = n.party and b.invoice_level = n.invoice_level
        and b.currency_code = n.currency_code and b.place < n.place and b.place >= n.place - $usual_of
    group by n.invoice_id, n.currency_code
)
select
    n.invoice_due_date as due_date,
    n.invoice_number,
    n.tenant,
    n.invoice_date,
    n.currency_code,
    n.total,
    half_amount(u.twice_usual) as usual_total,
    half_amount(2 * ten_thousandths(n.total) - u.twice_usual) as difference,
    percent_of_twice(2 * ten_thousandths(n.total) - u.twice_usual, u.twice_usual) as difference_percent,
    2 * ten_thousandths(n.total) <> u.twice_usual
    and abs(2 * ten_thousandths(n.total) - u.twice_usual) * 100 >= abs(u.twice_usual) * $unusual_percent as is_unusual,
    n.open_amount,
    if(n.days_past_due < 0, 0, n.days_past_due) as days_past_due,
    case
        when n.invoice_due_date is not null
            then sum(n.open_amount) over (
                partition by n.currency_code order by n.invoice_due_date nulls last
                range between unbounded preceding and current row
            )
    end as cash_until_due,
    n.state,
    n.invoice_level,
    n.invoice_id
from invoices_owed as n
left join usual as u on u.invoice_id = n.invoice_id and u.currency_code = n.currency_code
where n.total is not null
order by n.currency_code, n.invoice_due_date nulls last, n.invoice_number, n.invoice_id
