-- Those shipments of which the publication noted that their tracking number stands on another line of the same level too.
create or replace view internal.repeated_shipments as
select
    r.tenant, i.tenant_id, i.invoice_id, coalesce(i.invoice_level, 'unknown') as invoice_level,
    r.invoice_generation_date, r.ship_date, r.origin, r.currency_code, r.billable_weight, r.billable_weight_unit,
    r.tracking_number, r.carrier, r.carrier_zone, r.service_level, i.partner_id
from internal.repeated_copies as r
join internal.invoice_state as i on i.current_load_id = r.load_id
where i.voided_at is null;
