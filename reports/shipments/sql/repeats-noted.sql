-- The same, of all lines that pass the filters, as the publication noted them (ADR 25): as they are now, and of one level.
select s.partner_id, s.currency_code, s.carrier, s.tracking_number
from repeated_shipments as s
left join tenant_labels as n on n.tenant_key = tenant_key(s.tenant_id, s.tenant)
where is_asked_partner(s.partner_id)
and passes_filters(
    s.tenant_id, coalesce(n.label, s.tenant), s.carrier, s.carrier_zone, s.currency_code, s.ship_date, s.invoice_generation_date
)
and list_contains(cast(getvariable('levels') as varchar[]), s.invoice_level)
