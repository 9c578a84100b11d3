-- name: filtered-invoices
-- Invoices are in any state and level. A period selects by billing period or invoice date; carrier and zone by any such
-- shipment.
create or replace temp view filtered_invoices as
select * replace (coalesce(tenant, partner_tenant_id) as tenant)
from known_invoices
where matches_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
and (
    matches_currency(currency_code)
    or list_has_any(cast(getvariable('currencies') as varchar[]), string_split(currencies, ','))
)
and is_from(report_date_of(invoice_end_date, invoice_date))
and is_until(report_date_of(invoice_start_date, invoice_date))
and (
    (getvariable('carriers') is null and getvariable('zones') is null)
    or invoice_id in (
        select f.invoice_id
        from filtered_shipments as f
        -- The condition is repeated, so that shipments are not read without these filters.
        where getvariable('carriers') is not null or getvariable('zones') is not null
    )
)

-- name: selected-invoices
create or replace temp view selected_invoices as
select * from filtered_invoices where matches_level(invoice_level)

-- name: amounts-by-invoice
create or replace temp macro amounts_by_invoice(period) as table
    select g.*, i.tenant_id, i.partner_id
    from (
        select
            invoice_id,
            tenant,
            carrier,
            period as start,
            currency_code,
            billable_weight_unit as unit,
            count(*) as shipments,
            sum(billing_cost) as billing_cost,
            credits_of(billing_cost) as credits,
            sum(billable_weight) as weight
        from selected_shipments
        group by all
    ) as g
    join owned_invoices as i on i.invoice_id = g.invoice_id

-- name: invoiced-months
-- The table is kept as long as the filters are: several reports of a page read the shipments once.
create temp table if not exists invoiced_months as
from amounts_by_invoice(month_start(report_date))

-- name: invoiced-zones
-- The table is separate, because the zone would multiply the rows of `invoiced_months`.
create or replace temp view invoiced_zones as
select
    invoice_id,
    carrier_zone,
    currency_code,
    billable_weight_unit as unit,
    count(*) as shipments,
    sum(billing_cost) as billing_cost,
    credits_of(billing_cost) as credits,
    sum(billable_weight) as weight
from selected_shipments
group by all

-- name: totals-by
-- `amounts` is 'invoiced_months' or 'invoiced_zones'.
create or replace temp macro totals_by(amounts, first_key, second_key) as table
    select *, packages_of(shipments, repeats) as packages, per(billing_cost, packages_of(shipments, repeats)) as cost_per_shipment
    from (
        select
            a,
            b,
            currency_code,
            count(distinct invoice_id) as invoices,
            cast(sum(shipments) as bigint) as shipments,
            sum(billing_cost) as billing_cost,
            sum_lb(weight, unit) as billable_weight_lb,
            per_lb(sum(billing_cost), weight, unit) as cost_per_lb,
            sum(credits) as credits,
            sum(repeats) as repeats
        from (
            select first_key as a, second_key as b, currency_code, invoice_id, shipments, billing_cost, weight, unit, credits
            from query_table(amounts)
            union all by name
            from repeats_by(first_key, second_key, null, null)
        )
        group by all
    )

-- name: files-on
-- Invoices that were void at the instant have no file.
create or replace temp macro files_on(instant) as table
    select c.invoice_id, c.load_id, l.file_sha256
    from loads_as_known_on(instant) as c
    join loads as l on l.load_id = c.load_id
    where c.voided_at is null

-- name: invoice-currencies
-- A row for each billed currency, and always one for its own; `lines` counts those in the row's currency.
-- Other currencies have no stated total.
create or replace temp view invoice_currencies as
with chosen as materialized (
    select * from selected_invoices
),
-- A load records its currencies, so only files with several are read.
amounts as (
    select load_id, currency_code, count(*) as shipments, cast(sum(billing_cost) as decimal(38, 4)) as billing_cost
    from shipment_rows
    where load_id in (select load_id from chosen where contains(currencies, ','))
    group by all
)
select i.*, coalesce(a.shipments, i.shipments) as lines, true as is_own_currency
from chosen as i
left join amounts as a on a.load_id = i.load_id and a.currency_code = i.currency_code
where matches_currency(i.currency_code)
union all by name
select
    i.* replace (a.currency_code as currency_code, a.billing_cost as billing_cost),
    a.shipments as lines,
    false as is_own_currency
from chosen as i
join amounts as a on a.load_id = i.load_id and a.currency_code <> i.currency_code
where matches_currency(a.currency_code)

-- name: invoice-totals
-- Finalized, not voided, of the partner, without other filters, so that division of payments and usual totals do not
-- depend on the period. `total` is the header's, else the sum of the rows.
create or replace temp view invoice_totals as
select
    i.*,
    case
        when i.stated_total_amount is not null and i.stated_currency_code is not distinct from i.currency_code
            then cast(i.stated_total_amount as decimal(38, 4))
        else i.billing_cost
    end as total
from (
    select * from invoices
    union all by name
    select i.* replace (a.currency_code as currency_code, a.billing_cost as billing_cost)
    from invoices as i
    join invoice_amounts as a on a.invoice_id = i.invoice_id and a.currency_code <> i.currency_code
) as i
where i.state not in ('draft', 'voided') and i.service_status is distinct from 'draft' and i.voided_at is null
and matches_partner(i.partner_id)

-- name: invoices-owed
create or replace temp view invoices_owed as
with payment as (
    select invoice_number, currency_code, lower(tenant) as tenant, sum(amount) as amount from payments group by all
),
-- Invoices with the same number are paid in order of due date; the last one takes the rest.
divided as (
    select
        o.invoice_id,
        o.currency_code,
        p.amount,
        greatest(o.total, 0) as total,
        sum(greatest(o.total, 0)) over (number order by o.invoice_due_date nulls last, o.invoice_date nulls last, o.invoice_id)
            as total_so_far,
        row_number() over (number order by o.invoice_due_date nulls last, o.invoice_date nulls last, o.invoice_id)
        = count(*) over number as is_last
    from payment as p
    join invoice_totals as o
        on o.invoice_number = p.invoice_number and o.currency_code = p.currency_code
        and (p.tenant is null or p.tenant in (lower(o.tenant), lower(o.tenant_id), lower(o.partner_tenant_id)))
    window number as (partition by p.invoice_number, p.currency_code, p.tenant)
),
paid as (
    select
        invoice_id,
        currency_code,
        sum(
            if(is_last, amount, greatest(least(amount, total_so_far), 0))
            - greatest(least(amount, total_so_far - total), 0)
        ) as amount
    from divided
    group by all
)
select
    i.*,
    o.total,
    o.total - coalesce(p.amount, 0) as open_amount,
    cast((select max(published_at) from publication) as date) - i.invoice_due_date as days_past_due
from invoice_currencies as i
-- The service may state a total without its currency.
join invoice_totals as o on o.invoice_id = i.invoice_id and o.currency_code is not distinct from i.currency_code
left join paid as p on p.invoice_id = i.invoice_id and p.currency_code = i.currency_code
