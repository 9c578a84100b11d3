-- title: Open payables by age
-- purpose: Month end, 5
-- grain: tenant, invoice level, currency
-- source: payments
-- means: an aging of payables by due date, as of the publication. Finalized invoices that are not voided are owed:
--   what they state, or what their lines add up to if they state no total in that currency. Payments (--payments
--   FILE: invoice_number, currency_code, amount; optionally tenant, by name or id, and paid_on) are taken off the
--   invoice of that number and currency. If several invoices have the number (and tenant), a payment is divided:
--   each, in order of due date, invoice date and id, takes as much as it states, and the last takes the rest. not_due
--   is due on the day of the publication or later, the other columns so many days past due; no_due_date has no due
--   date. Invoices with nothing open are not counted; what was paid too much counts below zero. --from and --to
--   choose the invoices whose billing period has a day among those asked for, with --by invoice-date those that are
--   dated so; --carrier and --zone those with a line that counts and passes all filters.
-- order: currency; highest open_amount first; tenant; invoice_level
-- cannot say: what was paid, unless a file of payments says so; without one every invoice is open. A
--   payment that matches no invoice is in no figure.
-- units: open_amount money, not_due money, due_1_to_30 money, due_31_to_60 money, due_61_to_90 money, due_over_90
--   money, no_due_date money
-- chart: bar key=tenant value=open_amount combine=sum
-- drilldown: register by tenant, invoice_level as level, currency_code as currency
-- example: On 1 April one invoice of 100 is due on 15 April; one of 50 was due on 20 March, 12 days ago, and 20 of it are paid;
--   one of 7 was due on 1 January, 90 days ago.
--   invoices: invoice_number | stated_total | invoice_due_date
--   A | 100 | 2026-04-15
--   B | 50 | 2026-03-20
--   C | 7 | 2026-01-01
--   lines: invoice_number | billing_cost
--   A | 100
--   B | 50
--   C | 7
--   payments: invoice_number | currency_code | amount
--   B | USD | 20
--   published: 2026-04-01T00:00:00Z
--   rows: invoices | open_amount | not_due | due_1_to_30 | due_31_to_60 | due_61_to_90 | due_over_90
--   3 | 137.0000 | 100.0000 | 30.0000 | 0.0000 | 7.0000 | 0.0000
with owed as (
    select tenant, invoice_level, currency_code, open_amount, days_past_due
    from invoices_owed
    where open_amount <> 0
)
select
    tenant,
    invoice_level,
    currency_code,
    count(*) as invoices,
    sum(open_amount) as open_amount,
    coalesce(sum(open_amount) filter (where days_past_due <= 0), 0) as not_due,
    coalesce(sum(open_amount) filter (where days_past_due between 1 and 30), 0) as due_1_to_30,
    coalesce(sum(open_amount) filter (where days_past_due between 31 and 60), 0) as due_31_to_60,
    coalesce(sum(open_amount) filter (where days_past_due between 61 and 90), 0) as due_61_to_90,
    coalesce(sum(open_amount) filter (where days_past_due > 90), 0) as due_over_90,
    coalesce(sum(open_amount) filter (where days_past_due is null), 0) as no_due_date
from owed
group by tenant, invoice_level, currency_code
order by currency_code, sum(open_amount) desc, tenant, invoice_level
