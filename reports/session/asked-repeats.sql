-- Of the rows that a publication noted because their number stands on another (ADR 25), those that pass the filters, at the levels asked for.
create or replace temp view asked_repeats as
select
    s.* exclude (tenant),
    coalesce(n.label, s.tenant) as tenant,
    normal_zone(s.carrier_zone) as zone,
    case when getvariable('date_basis') = 'invoice-date' then s.invoice_generation_date else s.ship_date end as report_date
from repeated_shipments as s
left join tenant_labels as n on n.tenant_key = tenant_key(s.tenant_id, s.tenant)
where is_asked_partner(s.partner_id)
and passes_filters(
    s.tenant_id, coalesce(n.label, s.tenant), s.carrier, s.carrier_zone, s.currency_code, s.ship_date, s.invoice_generation_date
)
and list_contains(cast(getvariable('levels') as varchar[]), s.invoice_level)
