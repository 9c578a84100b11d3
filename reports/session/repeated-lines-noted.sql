-- The same as repeated-lines, of the rows that the publication noted, as they are now and of one level.
create temp table if not exists repeated_lines as
select
    s.carrier,
    s.tracking_number,
    coalesce(n.label, s.tenant) as tenant,
    s.tenant_id,
    s.origin,
    s.carrier_zone,
    normal_zone(s.carrier_zone) as zone,
    s.service_level,
    s.currency_code,
    case when getvariable('date_basis') = 'invoice-date' then s.invoice_generation_date else s.ship_date end as report_date,
    s.billable_weight,
    s.billable_weight_unit
from repeated_shipments as s
left join tenant_labels as n on n.tenant_key = tenant_key(s.tenant_id, s.tenant)
where is_asked_partner(s.partner_id)
and passes_filters(
    s.tenant_id, coalesce(n.label, s.tenant), s.carrier, s.carrier_zone, s.currency_code, s.ship_date, s.invoice_generation_date
)
and list_contains(cast(getvariable('levels') as varchar[]), s.invoice_level)
