-- The same as loaded-shipments.sql, with weights as the file of --weights says that each carrier rates them.
create or replace temp view loaded_shipments as
select
    s.*,
    coalesce(s.invoice_level, 'unknown') as level,
    case when getvariable('date_basis') = 'invoice-date' then s.invoice_generation_date else s.ship_date end as report_date,
    normal_zone(s.carrier_zone) as zone,
    passes_filters(s.tenant_id, s.tenant, s.carrier, s.carrier_zone, s.currency_code, s.ship_date, s.invoice_generation_date)
        as is_examined,
    w.rated
from base_shipments as s
left join rated_weights as w
    on w.carrier = s.carrier and w.billable_weight = s.billable_weight and w.billable_weight_unit = s.billable_weight_unit
where list_contains(cast(getvariable('levels') as varchar[]), coalesce(s.invoice_level, 'unknown'))
