-- A row per invoice and currency of its file, which add up to the view shipments. Without voided invoices. Most files have one
-- currency, whose sum is stored with the load; only the rows of other files are read.
create or replace view invoice_amounts as
select
    i.invoice_id, i.invoice_number, coalesce(i.invoice_level, 'unknown') as invoice_level, l.tenant, i.tenant_id,
    i.partner_tenant_id, i.partner_id, a.currency_code, a.shipments, a.billing_cost::decimal(38, 4) as billing_cost
from (
    select load_id, currency_code, shipments, billing_cost
    from internal.loads
    where not contains(currencies, ',') and shipments > 0
    union all
    select load_id, currency_code, count(*), sum(billing_cost)
    from internal.shipment_rows
    where load_id in (select load_id from internal.loads where contains(currencies, ','))
    group by load_id, currency_code
) as a
join internal.loads as l on l.load_id = a.load_id
join internal.owned_invoices as i on i.current_load_id = a.load_id
where i.voided_at is null;
