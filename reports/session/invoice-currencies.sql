-- The selected invoices with a row for each currency that they bill, so that they add up to the shipments. lines are those in
-- the row's currency. In its own currency an invoice has a row in any case; what its file bills in others nobody stated.
create or replace temp view invoice_currencies as
with chosen as materialized (
    select * from selected_invoices
),
-- A file in one currency is noted with its load; only the rows of others are read, those of voided invoices too.
amounts as (
    select load_id, currency_code, count(*) as shipments, cast(sum(billing_cost) as decimal(38, 4)) as billing_cost
    from shipment_rows
    where load_id in (select load_id from chosen where contains(currencies, ','))
    group by all
)
select i.*, coalesce(a.shipments, i.shipments) as lines, true as is_own_currency
from chosen as i
left join amounts as a on a.load_id = i.load_id and a.currency_code = i.currency_code
where is_asked_currency(i.currency_code)
union all by name
select
    i.* replace (a.currency_code as currency_code, a.billing_cost as billing_cost),
    a.shipments as lines,
    false as is_own_currency
from chosen as i
join amounts as a on a.load_id = i.load_id and a.currency_code <> i.currency_code
where is_asked_currency(a.currency_code)
