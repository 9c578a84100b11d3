-- The rows of voided invoices, which no total sees, for the reports that ask what became of them: as of an instant those
-- that were void then, whether or not a person undid it since.
create or replace temp view voided_shipments as
select s.* replace (coalesce(n.label, s.tenant) as tenant), coalesce(s.invoice_level, 'unknown') as level
from (
    select * exclude (version, load_id, is_current) from shipment_versions
    where is_current and voided_at is not null and getvariable('as_known_on') is null
    union all by name
    select * from voided_shipments_as_known_on(cast(getvariable('as_known_on') as timestamptz))
) as s
left join tenant_labels as n on n.tenant_key = tenant_key(s.tenant_id, s.tenant)
where is_asked_partner(s.partner_id)
and passes_filters(s.tenant_id, s.tenant, s.carrier, s.carrier_zone, s.currency_code, s.ship_date, s.invoice_generation_date)
and list_contains(cast(getvariable('levels') as varchar[]), coalesce(s.invoice_level, 'unknown'))
