-- The shipments that pass every filter but the level.
create or replace temp view filtered_shipments as
select
    s.*,
    coalesce(s.invoice_level, 'unknown') as level,
    case when getvariable('date_basis') = 'invoice-date' then s.invoice_generation_date else s.ship_date end
        as report_date,
    normal_zone(s.carrier_zone) as zone
from base_shipments as s
where passes_filters(s.tenant_id, s.tenant, s.carrier, s.carrier_zone, s.currency_code, s.ship_date, s.invoice_generation_date)
