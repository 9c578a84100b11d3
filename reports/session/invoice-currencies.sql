-- The selected invoices with a row for each currency that they bill, so that they add up to the shipments. lines are those in
-- the row's currency. In its own currency an invoice has a row in any case; what its file bills in others nobody stated.
create or replace temp view invoice_currencies as
select i.*, coalesce(a.shipments, i.shipments) as lines, true as is_own_currency
from selected_invoices as i
left join invoice_amounts as a on a.invoice_id = i.invoice_id and a.currency_code = i.currency_code
where (getvariable('currencies') is null or list_contains(cast(getvariable('currencies') as varchar[]), i.currency_code))
union all by name
select
    i.* replace (a.currency_code as currency_code, a.billing_cost as billing_cost),
    a.shipments as lines,
    false as is_own_currency
from selected_invoices as i
join invoice_amounts as a on a.invoice_id = i.invoice_id and a.currency_code <> i.currency_code
where (getvariable('currencies') is null or list_contains(cast(getvariable('currencies') as varchar[]), a.currency_code))
