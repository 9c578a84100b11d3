-- The rows of --payments that are of a finalized invoice that was not voided, as invoices-owed.sql divides them, whatever the filters.
create or replace temp view matched_rows as
select distinct f.line
from payments as f
join invoice_totals as o
    on o.invoice_number = f.invoice_number and o.currency_code = f.currency_code
    and (f.tenant is null or lower(f.tenant) in (lower(o.tenant), lower(o.tenant_id), lower(o.partner_tenant_id)))
