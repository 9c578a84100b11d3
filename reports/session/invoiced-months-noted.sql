-- The same as invoiced-months, of what the publication noted: for filters that take whole months, and no zones. Several rows may be of
-- one month; who reads them adds them up.
create or replace temp view invoiced_months as
select
    invoice_id,
    tenant,
    carrier,
    case when getvariable('date_basis') = 'invoice-date' then invoice_month else ship_month end as start,
    currency_code,
    unit,
    shipments,
    billing_cost,
    credits,
    weight,
    tenant_id,
    partner_id
from base_months
where passes_filters(tenant_id, tenant, carrier, null, currency_code, ship_month, invoice_month)
and list_contains(cast(getvariable('levels') as varchar[]), invoice_level)
