-- name: lines
-- A positive line is billed again when the same tenant, carrier, number and currency is on a voided invoice
-- dated on or before its own.
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

-- name: tenants
select
    k.partner_id,
    k.tenant_id,
    coalesce(l.label, k.tenant, k.partner_tenant_id, k.tenant_id) as tenant,
    matches_partner(k.partner_id) and matches_tenant(k.tenant_id, coalesce(l.label, k.tenant, k.partner_tenant_id))
        as is_chosen
from tenants as k
left join tenant_labels as l on l.tenant_key = tenant_key(k.tenant_id, k.tenant)
order by tenant, k.tenant_id, k.partner_id

-- name: billed
select *
from (
    select
        partner_id,
        tenant_id,
        tenant,
        kind,
        carrier,
        service_level,
        zone,
        currency_code,
        count(*) as lines,
        count(distinct tracking_number) as packages,
        sum(billing_cost) as amount
    from statement_lines
    where report_date >= cast($from as date) and report_date <= cast($to as date)
    group by all
)
order by
    tenant, tenant_id, partner_id, currency_code, list_position(['charge', 'billed again', 'credit'], kind),
    carrier, service_level nulls last, try_cast(zone as integer) nulls last, zone nulls last

-- name: invoices
-- Invoices in their present state, by month of the reported date.
select
    b.*,
    i.invoice_number,
    i.proof,
    i.discrepancy_rules,
    i.file_sha256,
    i.loaded_at
from (
    select
        partner_id,
        tenant_id,
        tenant,
        month_of(report_date) as period,
        cast(invoice_id as varchar) as invoice_id,
        currency_code,
        count(*) as lines,
        sum(billing_cost) as amount
    from selected_shipments
    where report_date >= cast($from as date) and report_date <= cast($to as date)
    group by all
) as b
left join known_invoices as i on i.invoice_id = cast(b.invoice_id as uuid)
order by b.tenant, b.tenant_id, b.partner_id, b.period, i.invoice_number, b.invoice_id, b.currency_code

-- name: not-counted
-- Includes drafts and invoices of unknown date. By ship date an invoice without lines belongs to every month of
-- its billing period.
select
    partner_id,
    tenant_id,
    coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
    month_of(first_day) as first_month,
    month_of(last_day) as last_month,
    cast(invoice_id as varchar) as invoice_id,
    invoice_number,
    state,
    reason,
    currency_code,
    stated_total_text as stated_total,
    voided_at
from (
    select
        *,
        if(getvariable('date_basis') = 'invoice-date', invoice_date, coalesce(invoice_start_date, invoice_date)) as first_day,
        if(getvariable('date_basis') = 'invoice-date', invoice_date, coalesce(invoice_end_date, invoice_date)) as last_day
    from known_invoices
)
where (load_id is null or voided_at is not null)
and list_contains(cast(getvariable('levels') as varchar[]), invoice_level)
and matches_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
and (first_day is null or last_day is null or (last_day >= cast($from as date) and first_day <= cast($to as date)))
order by tenant, tenant_id, partner_id, invoice_number, invoice_id

-- name: shipments
select
    invoice_number,
    invoice_generation_date,
    ship_date,
    carrier,
    service_level,
    carrier_zone,
    origin,
    tracking_number,
    kind,
    currency_code,
    billing_cost,
    billable_weight,
    billable_weight_unit,
    row_number,
    cast(invoice_id as varchar) as invoice_id,
    file_sha256
from statement_lines
where report_date >= cast($from as date) and report_date <= cast($to as date)
and tenant = $tenant and tenant_id is not distinct from $tenant_id and partner_id is not distinct from $partner_id
order by invoice_number, invoice_id, row_number
limit $limit
