-- title: Open payables by age
-- purpose: Month end, 5
-- grain: tenant, invoice level, currency
-- reads: invoices
-- source: payments
-- means: Open amounts of finalized invoices by days past the due date, as of the publication. An invoice owes its
--   stated total, or the sum of its lines when it states none in that currency, less its payments (`--payments FILE`).
--   A payment for several invoices with one number is divided in order of due date. Overpaid amounts count below zero.
-- order: currency; highest open_amount first; tenant; invoice_level
-- limits: Only a file of payments shows what was paid. A payment that matches no invoice is in no amount.
-- chart: bar key=tenant value=open_amount combine=sum
-- drilldown: register by tenant, invoice_level as level, currency_code as currency
-- example: On 1 April one invoice of 100 is due on 15 April; one of 50, with 20 paid, was due 12 days ago; one of 7 was
--   due 90 days ago.
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
