-- name: publication
select sequence, published_at from publication order by sequence desc limit 1

-- name: levels
-- Shipments and invoices by level without filters; they decide the default level. Grouped by partner, so that all sessions
-- share the result. Counts are those of loads, so no row is read.
select
    partner_id,
    invoice_level as level,
    count(*) as all_invoices,
    cast(coalesce(sum(shipments) filter (where voided_at is null), 0) as bigint) as all_shipments
from invoices
group by all
order by level

-- name: levels-as-known-on
-- The same as levels, of the shipments that counted at an instant; of invoices as they are now.
select i.partner_id, i.level, i.all_invoices, coalesce(s.all_shipments, 0) as all_shipments
from (select partner_id, invoice_level as level, count(*) as all_invoices from invoices group by all) as i
left join (select partner_id, invoice_level as level, count(*) as all_shipments from known_shipments group by all) as s
    on s.level = i.level and s.partner_id is not distinct from i.partner_id
order by level

-- name: head
-- The counts of the head by level: shipments that pass the filters, by unit of weight, and those that are proved.
with counted as (
    select
        invoice_id,
        sum(shipments) as shipments,
        sum(with_weight) filter (where unit = 'LB') as in_pounds,
        sum(with_weight) filter (where unit = 'KG') as in_kilograms
    from weighed
    group by invoice_id
)
select
    coalesce(i.invoice_level, 'unknown') as level,
    cast(sum(c.shipments) as bigint) as shipments,
    count(*) as invoices,
    cast(coalesce(sum(c.in_pounds), 0) as bigint) as in_pounds,
    cast(coalesce(sum(c.in_kilograms), 0) as bigint) as in_kilograms,
    cast(coalesce(sum(c.shipments) filter (where i.proof in ('hash', 'header')), 0) as bigint) as proved,
    -- Money, count and currency contradict an invoice; the dates of late charges do not (see the report proof).
    count(*) filter (
        where i.invoice_id in (
            select invoice_id from discrepancy_lines where rule in ('total-amount', 'shipment-count', 'currency')
        )
    ) as contradicted_invoices
from counted as c
join invoice_state as i on i.invoice_id = c.invoice_id
group by all

-- name: invoices-left-out
-- The number of invoices that pass the filters and are of another level than the reported one.
select count(*) as invoices
from filtered_invoices
where not matches_level(invoice_level)

-- name: not-counted
-- Invoices of a period that are announced and in no total: the first three by number, each with their number and the last day
-- that is billed. By ship date the period is that of the invoice's header; an invoice without dates may be of any period.
with dated as (
    select
        *,
        report_date_of(coalesce(invoice_start_date, invoice_date), invoice_date) as first_day,
        report_date_of(coalesce(invoice_end_date, invoice_date), invoice_date) as last_day,
        -- As known at an instant, an invoice that was loaded later waits.
        load_id is not null
        and coalesce(first_loaded_at <= try_cast(getvariable('as_known_on') as timestamptz) at time zone 'UTC', true)
            as is_loaded
    from known_invoices
    where voided_at is null
    and state <> 'voided'
    and coalesce(first_seen_at <= try_cast(getvariable('as_known_on') as timestamptz) at time zone 'UTC', true)
),
billed as (
    select max(report_date_of(greatest(last_ship_date, invoice_end_date), invoice_date)) as billed_to
    from dated
    where is_loaded
),
missing as (
    select
        coalesce(invoice_number, cast(invoice_id as varchar)) as number,
        coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
        if(load_id is null, state, 'finalized') as state,
        cast(cast(stated_total_amount as decimal(18, 2)) as varchar) || ' ' || stated_currency_code as stated,
        count(*) over () as found
    from dated
    where not is_loaded
    and matches_level(invoice_level)
    and matches_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
    and (currency_code is null or matches_currency(currency_code))
    and ($from is null or last_day is null or last_day >= cast($from as date))
    and ($to is null or first_day is null or first_day <= cast($to as date))
    order by number
    limit 3
)
select b.billed_to, m.number, m.tenant, m.state, m.stated, coalesce(m.found, 0) as found
from billed as b
left join missing as m on true
order by m.number
