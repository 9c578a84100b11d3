-- name: rates
-- Whatever the filters, for all statements here; a rate matches even if another fits better (see
-- rated-cells).
with places as (
    select distinct
        carrier,
        service_level,
        zone,
        currency_code,
        exact_weight(billable_weight, billable_weight_unit) as exact,
        rate_day(report_date) as day
    from loaded_shipments
    where billing_cost > 0
)
select line from fitting_rates('places')

-- name: weights
select f.line
from weights as f
where f.carrier is null or lower(f.carrier) in (select distinct lower(carrier) from loaded_shipments)

-- name: costs
select distinct f.line
from loaded_shipments as s
join costs as f
    on lower(f.carrier) = lower(s.carrier) and f.tracking_number = s.tracking_number and f.currency_code = s.currency_code

-- name: accepted
select distinct f.line
from (
    select invoice_number, unnest(string_split(discrepancy_rules, ', ')) as rule from known_invoices
) as i
join accepted as f on f.rule = i.rule and (f.invoice_number is null or f.invoice_number = i.invoice_number)

-- name: payments
-- Payments are divided as in invoices-owed.
select distinct f.line
from payments as f
join invoice_totals as o
    on o.invoice_number = f.invoice_number and o.currency_code = f.currency_code
    and (f.tenant is null or lower(f.tenant) in (lower(o.tenant), lower(o.tenant_id), lower(o.partner_tenant_id)))

-- name: statements
select distinct f.line
from loaded_shipments as s
join statements as f
    on lower(f.carrier) = lower(s.carrier) and f.carrier_invoice_date = s.carrier_invoice_date
    and f.currency_code = s.currency_code

-- name: disputes
select distinct f.line
from loaded_shipments as s
join disputes as f
    on lower(f.carrier) = lower(s.carrier) and f.tracking_number = s.tracking_number and f.currency_code = s.currency_code

-- name: budget
with billed as (
    select distinct
        month_of(report_date) as month, lower(tenant) as tenant, lower(tenant_id) as tenant_id, lower(carrier) as carrier
    from loaded_shipments
)
select distinct f.line
from billed as s
join budget as f
    on f.month = s.month and (f.tenant is null or lower(f.tenant) in (s.tenant, s.tenant_id))
    and (f.carrier is null or lower(f.carrier) = s.carrier)

-- name: fx
with billed as (
    select distinct month_of(report_date) as month, currency_code from loaded_shipments
)
select distinct f.line
from billed as s
join fx as f on f.from_currency = s.currency_code and (f.month is null or f.month = s.month)
