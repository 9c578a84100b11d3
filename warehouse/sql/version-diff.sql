-- What changed between two versions of an invoice: rows that are only in one of them; of those, rows that differ in
-- nothing but their cost are one change. Equal rows are paired one to one, so a doubled row shows as added.
with old as (
    select * exclude (load_id, row_number) from shipment_rows where load_id = $from_load::integer
),
new as (
    select * exclude (load_id, row_number) from shipment_rows where load_id = $to_load::integer
),
removed as (
    select *, row_number() over (partition by columns(* exclude (billing_cost)) order by billing_cost) as nth
    from (select * from old except all select * from new)
),
added as (
    select *, row_number() over (partition by columns(* exclude (billing_cost)) order by billing_cost) as nth
    from (select * from new except all select * from old)
)
select
    case when r.tracking_number is null then 'added' when a.tracking_number is null then 'removed' else 'changed' end as change,
    coalesce(a.tracking_number, r.tracking_number) as tracking_number,
    coalesce(a.ship_date, r.ship_date)::varchar as ship_date,
    coalesce(a.carrier, r.carrier) as carrier,
    coalesce(a.service_level, r.service_level) as service_level,
    coalesce(a.currency_code, r.currency_code) as currency_code,
    r.billing_cost::varchar as old_billing_cost,
    a.billing_cost::varchar as new_billing_cost
from removed as r
full join added as a
    on a.nth = r.nth
    and row(a.tenant, a.invoice_generation_date, a.ship_date, a.origin, a.currency_code, a.billable_weight,
        a.billable_weight_unit, a.tracking_number, a.carrier, a.carrier_zone, a.carrier_invoice_date, a.service_level)
    is not distinct from
    row(r.tenant, r.invoice_generation_date, r.ship_date, r.origin, r.currency_code, r.billable_weight,
        r.billable_weight_unit, r.tracking_number, r.carrier, r.carrier_zone, r.carrier_invoice_date, r.service_level)
order by change, tracking_number, ship_date, old_billing_cost, new_billing_cost
