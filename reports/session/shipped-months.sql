-- What was billed for what was shipped in each month, by month of invoicing. Days are months before anything is counted of them: a
-- function of each row is dearer than reading it.
create or replace temp view shipped_months as
select
    month_start(ship_date) as start,
    month_start(invoice_generation_date) as invoiced,
    tenant,
    carrier,
    currency_code,
    sum(billing_cost) as amount
from selected_shipments
group by all
