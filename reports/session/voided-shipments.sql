-- The rows of voided invoices, which no total sees, for the reports that ask what became of them.
create or replace temp view voided_shipments as
select s.* replace (coalesce(n.label, s.tenant) as tenant), coalesce(s.invoice_level, 'unknown') as level
from shipment_versions as s
left join tenant_labels as n on n.tenant_key = tenant_key(s.tenant_id, s.tenant)
where s.is_current
and is_asked_partner(s.partner_id)
and s.voided_at is not null
and (getvariable('as_known_on') is null or s.voided_at <= cast(getvariable('as_known_on') as timestamptz))
and passes_filters(s.tenant_id, s.tenant, s.carrier, s.carrier_zone, s.currency_code, s.ship_date, s.invoice_generation_date)
and list_contains(cast(getvariable('levels') as varchar[]), coalesce(s.invoice_level, 'unknown'))
