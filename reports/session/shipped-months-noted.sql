-- The same as shipped-months, of what the publication noted: for filters that take whole months, and no zones. Several rows may be
-- of one month; who reads them adds them up.
create or replace temp view shipped_months as
select ship_month as start, invoice_month as invoiced, tenant, carrier, currency_code, billing_cost as amount
from base_months
where passes_filters(tenant_id, tenant, carrier, null, currency_code, ship_month, invoice_month)
and list_contains(cast(getvariable('levels') as varchar[]), invoice_level)
