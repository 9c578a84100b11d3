-- name: known-invoices
-- All invoices of the selected partners, whatever their state, with the names that the reports give to tenants.
-- An invoice that has no rows yet takes the name under which the same tenant was billed before.
create or replace temp view known_invoices as
select i.* replace (coalesce(l.label, t.tenant, i.tenant) as tenant)
from invoices as i
left join known_tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
left join tenant_labels as l on l.tenant_key = tenant_key(i.tenant_id, i.tenant)
where matches_partner(i.partner_id)

-- name: filtered-invoices
-- The invoices that pass every filter but the level, whatever their state. The period filter means the billing period when it is by ship date, else the invoice date; carrier and zone ask for a shipment that has them.
create or replace temp view filtered_invoices as
select * replace (coalesce(tenant, partner_tenant_id) as tenant)
from known_invoices
where matches_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
and (
    matches_currency(currency_code)
    or list_has_any(cast(getvariable('currencies') as varchar[]), string_split(currencies, ','))
)
and (
    getvariable('date_from') is null
    or case when getvariable('date_basis') = 'invoice-date' then invoice_date else invoice_end_date end
    >= cast(getvariable('date_from') as date)
)
and (
    getvariable('date_to') is null
    or case when getvariable('date_basis') = 'invoice-date' then invoice_date else invoice_start_date end
    <= cast(getvariable('date_to') as date)
)
and (
    (getvariable('carriers') is null and getvariable('zones') is null)
    or invoice_id in (
        select f.invoice_id
        from filtered_shipments as f
        -- Repeated here, so that the shipments are not read without these filters.
        where getvariable('carriers') is not null or getvariable('zones') is not null
    )
)

-- name: selected-invoices
-- The invoices a report about invoices counts: those that pass the filters, of one level.
create or replace temp view selected_invoices as
select * from filtered_invoices where list_contains(cast(getvariable('levels') as varchar[]), invoice_level)

-- name: invoices-left-out
-- How many invoices pass the filters and are of a level that is not reported.
select count(*) as invoices
from filtered_invoices
where not list_contains(cast(getvariable('levels') as varchar[]), invoice_level)

-- name: not-counted
-- Invoices of a period that are announced and in no total: the first few by number, each with how many there are and the last day that is
-- billed. By ship date a period is that of the invoice's header; an invoice without dates may be of any.
with dated as (
    select
        *,
        if(getvariable('date_basis') = 'invoice-date', invoice_date, coalesce(invoice_start_date, invoice_date)) as first_day,
        if(getvariable('date_basis') = 'invoice-date', invoice_date, coalesce(invoice_end_date, invoice_date)) as last_day,
        -- As it was known on a day, an invoice that was loaded after it waits.
        load_id is not null
        and coalesce(first_loaded_at <= try_cast(getvariable('as_known_on') as timestamptz) at time zone 'UTC', true)
            as is_loaded
    from known_invoices
    where voided_at is null
    and state <> 'voided'
    and coalesce(first_seen_at <= try_cast(getvariable('as_known_on') as timestamptz) at time zone 'UTC', true)
),
billed as (
    select max(if(getvariable('date_basis') = 'invoice-date', invoice_date, greatest(last_ship_date, invoice_end_date)))
        as billed_to
    from dated
    where is_loaded
),
missing as (
    select
        coalesce(invoice_number, cast(invoice_id as varchar)) as number,
        coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
        if(load_id is null, state, 'finalized') as state,
        count(*) over () as found
    from dated
    where not is_loaded
    and list_contains(cast(getvariable('levels') as varchar[]), invoice_level)
    and matches_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
    and (currency_code is null or matches_currency(currency_code))
    and ($from is null or last_day is null or last_day >= cast($from as date))
    and ($to is null or first_day is null or first_day <= cast($to as date))
    order by number
    limit 3
)
select b.billed_to, m.number, m.tenant, m.state, coalesce(m.found, 0) as found
from billed as b
left join missing as m on true
order by m.number

-- name: invoiced
-- Amounts of each invoice by tenant, carrier, unit and period, to which the owner is joined: few rows.
create or replace temp macro invoiced(period) as table
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
    join invoice_state as i on i.invoice_id = g.invoice_id

-- name: invoiced-months
-- Kept as long as the filters are, so that several reports of a page read the shipments once.
create temp table if not exists invoiced_months as
from invoiced(month_start(report_date))

-- name: billed-by
-- Amounts of each invoice by the groups of "cost": few rows.
create or replace temp macro billed_by(asked) as table
    select
        invoice_id,
        of_month, of_week, of_tenant, of_carrier, of_service, of_zone, of_origin, of_weight,
        currency_code,
        billable_weight_unit as unit,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        credits_of(billing_cost) as credits,
        sum(billable_weight) as weight
    from lines_by(asked, 'selected_shipments')
    group by all

-- name: files-on
-- Which file of each invoice counted at an instant: none of one that was void then.
create or replace temp macro files_on(instant) as table
    select c.invoice_id, c.load_id, l.file_sha256
    from current_loads_as_known_on(instant) as c
    join loads as l on l.load_id = c.load_id
    join invoice_state as i on i.invoice_id = c.invoice_id
    -- A column, since the instant may be a subquery, which no lambda takes.
    cross join (select utc_of(instant) as instant) as k
    where void_since(i.voided_at, i.past_voids, k.instant) is null

-- name: invoice-currencies
-- The selected invoices with a row for each currency that they bill, so that they add up to the shipments. lines are those in
-- the row's currency. An invoice always has a row in its own currency; amounts in other currencies have no stated total.
create or replace temp view invoice_currencies as
with chosen as materialized (
    select * from selected_invoices
),
-- A file in one currency is noted with its load; only the rows of others are read, those of voided invoices too.
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
-- The total of each finalized, not voided invoice in each currency, without filters: how a payment is divided and what is
-- usual must not depend on the period. total is the header's, or the sum of the rows where none is stated in that currency.
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

-- name: invoices-owed
-- The open amount of each finalized, not voided invoice in each currency: its total less its payments.
create or replace temp view invoices_owed as
with payment as (
    select invoice_number, currency_code, lower(tenant) as tenant, sum(amount) as amount from payments group by all
),
-- Several invoices may have one number: each takes what it is owed, in order of due date, and the last what is left.
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
join invoice_totals as o on o.invoice_id = i.invoice_id and o.currency_code = i.currency_code
left join paid as p on p.invoice_id = i.invoice_id and p.currency_code = i.currency_code
