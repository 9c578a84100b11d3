-- The selected invoices with a row for each currency that they bill, so that they add up to the shipments. lines are those in
-- the row's currency. In its own currency an invoice has a row in any case; what its file bills in others nobody stated.
create or replace temp view invoice_currencies as
with amounts as (
    select invoice_id, currency_code, shipments, billing_cost from invoice_amounts
    union all
    -- Voided invoices are in no total and not in invoice_amounts; of these only files in several currencies are read.
    select invoice_id, currency_code, count(*) as shipments, cast(sum(billing_cost) as decimal(38, 4)) as billing_cost
    from shipment_versions
    where is_current
    and invoice_id in (select invoice_id from selected_invoices where voided_at is not null and contains(currencies, ','))
    group by all
)
select i.*, coalesce(a.shipments, i.shipments) as lines, true as is_own_currency
from selected_invoices as i
left join amounts as a on a.invoice_id = i.invoice_id and a.currency_code = i.currency_code
where (getvariable('currencies') is null or list_contains(cast(getvariable('currencies') as varchar[]), i.currency_code))
union all by name
select
    i.* replace (a.currency_code as currency_code, a.billing_cost as billing_cost),
    a.shipments as lines,
    false as is_own_currency
from selected_invoices as i
join amounts as a on a.invoice_id = i.invoice_id and a.currency_code <> i.currency_code
where (getvariable('currencies') is null or list_contains(cast(getvariable('currencies') as varchar[]), a.currency_code))
