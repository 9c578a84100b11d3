-- The shipments that pass every filter but the level. The filters are session variables, bound one by one by the
-- runner, so that no value ever becomes part of a query; null means "all".
create or replace temp view filtered_shipments as
select
    s.*,
    coalesce(s.invoice_level, 'unknown') as level,
    case when getvariable('date_basis') = 'invoice-date' then s.invoice_generation_date else s.ship_date end as report_date,
    normal_zone(s.carrier_zone) as zone
from base_shipments as s
where (
    getvariable('date_from') is null
    or case when getvariable('date_basis') = 'invoice-date' then s.invoice_generation_date else s.ship_date end
    >= cast(getvariable('date_from') as date)
)
and (
    getvariable('date_to') is null
    or case when getvariable('date_basis') = 'invoice-date' then s.invoice_generation_date else s.ship_date end
    < cast(getvariable('date_to') as date)
)
and (getvariable('tenants') is null or list_contains(cast(getvariable('tenants') as varchar[]), s.tenant))
and (getvariable('carriers') is null or list_contains(cast(getvariable('carriers') as varchar[]), s.carrier))
and (getvariable('zones') is null or list_contains(cast(getvariable('zones') as varchar[]), coalesce(s.carrier_zone, '')))
and (getvariable('currencies') is null or list_contains(cast(getvariable('currencies') as varchar[]), s.currency_code))
