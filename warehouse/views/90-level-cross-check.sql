-- A partner-level invoice sums the shipments of all tenants: each shipment should be billed on both levels at the same cost.
-- A row per shipment and currency, without a comparison between partners. An unknown level is tenant level, as in the report
-- levels.
create or replace view level_cross_check as
select
    coalesce(t.tracking_number, p.tracking_number) as tracking_number,
    coalesce(t.carrier, p.carrier) as carrier,
    coalesce(t.ship_date, p.ship_date) as ship_date,
    coalesce(t.currency_code, p.currency_code) as currency_code,
    t.tenant,
    coalesce(t.charges, 0) as tenant_charges,
    coalesce(p.charges, 0) as partner_charges,
    t.billing_cost as tenant_billing_cost,
    p.billing_cost as partner_billing_cost,
    case when p.tracking_number is null then 'only-tenant' when t.tracking_number is null then 'only-partner'
        when t.billing_cost <> p.billing_cost or t.charges <> p.charges then 'differs' else 'equal' end as verdict,
    coalesce(t.partner_id, p.partner_id) as partner_id
from (
    select partner_id, tracking_number, carrier, ship_date, currency_code, min(tenant) as tenant, count(*) as charges,
        sum(billing_cost)::decimal(38, 4) as billing_cost
    from shipments where invoice_level <> 'partner' group by all
) as t
full join (
    select partner_id, tracking_number, carrier, ship_date, currency_code, count(*) as charges,
        sum(billing_cost)::decimal(38, 4) as billing_cost
    from shipments where invoice_level = 'partner' group by all
) as p
    on p.tracking_number = t.tracking_number and p.carrier = t.carrier and p.ship_date = t.ship_date
    and p.currency_code = t.currency_code and p.partner_id is not distinct from t.partner_id;
