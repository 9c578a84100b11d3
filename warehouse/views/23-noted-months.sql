-- What the invoices of shipments bill by month of shipping and of invoicing, as publications noted it of each load.
create or replace view internal.noted_months as
select
    m.* exclude (load_id),
    i.tenant_id, i.invoice_id, coalesce(i.invoice_level, 'unknown') as invoice_level, i.partner_id
from internal.billed_months as m
join internal.invoice_state as i on i.current_load_id = m.load_id
where i.voided_at is null;
