-- The billed lines with what a statement takes each for. A line that is not below zero is billed again when the same tenant,
-- carrier, tracking number and currency stood on an invoice that is void and dated on or before its own.
create or replace temp view statement_lines as
with voided as (
    select partner_id, tenant_id, tenant, carrier, tracking_number, currency_code, min(invoice_generation_date) as dated
    from voided_shipments
    group by all
)
select
    s.*,
    case
        when s.billing_cost < 0 then 'credit'
        when v.dated <= s.invoice_generation_date then 'billed again'
        else 'charge'
    end as kind
from selected_shipments as s
left join voided as v
    on v.partner_id is not distinct from s.partner_id and v.tenant_id is not distinct from s.tenant_id
    and v.tenant = s.tenant and v.carrier = s.carrier and v.tracking_number = s.tracking_number
    and v.currency_code = s.currency_code
