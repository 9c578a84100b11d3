-- The same as weighed, of what the publication noted: for filters that take whole months, and no zones.
create or replace temp view weighed as
select invoice_id, unit, shipments, weighed as with_weight
from base_months
where passes_filters(tenant_id, tenant, carrier, null, currency_code, ship_month, invoice_month)
