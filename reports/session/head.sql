-- name: publication
select sequence, published_at from publication order by sequence desc limit 1

-- name: levels
-- Without filters, for the default level; by partner, so that all sessions share the result. Reads no
-- shipment row.
select
    partner_id,
    invoice_level as level,
    count(*) as all_invoices,
    cast(coalesce(sum(shipments) filter (where voided_at is null), 0) as bigint) as all_shipments
from invoices
group by all
order by level

-- name: levels-as-known-on
-- The same as levels, of shipments that counted at an instant; invoices are as they are now.
select i.partner_id, i.level, i.all_invoices, coalesce(s.all_shipments, 0) as all_shipments
from (select partner_id, invoice_level as level, count(*) as all_invoices from invoices group by all) as i
left join (select partner_id, invoice_level as level, count(*) as all_shipments from known_shipments group by all) as s
    on s.level = i.level and s.partner_id is not distinct from i.partner_id
order by level

-- name: head
with counted as (
    select
        invoice_id,
        count(*) as shipments,
        count(billable_weight) filter (where billable_weight_unit = 'LB') as in_pounds,
        count(billable_weight) filter (where billable_weight_unit = 'KG') as in_kilograms
    from filtered_shipments
    group by invoice_id
)
select
    coalesce(i.invoice_level, 'unknown') as level,
    cast(sum(c.shipments) as bigint) as shipments,
    count(*) as invoices,
    cast(coalesce(sum(c.in_pounds), 0) as bigint) as in_pounds,
    cast(coalesce(sum(c.in_kilograms), 0) as bigint) as in_kilograms,
    cast(coalesce(sum(c.shipments) filter (where i.proof in ('hash', 'header')), 0) as bigint) as proved,
    count(*) filter (where i.proof = 'announced') as announced_invoices,
    -- Late charges have other dates than the invoice, which is no contradiction.
    count(*) filter (
        where i.invoice_id in (
            select invoice_id from discrepancy_lines where rule in ('total-amount', 'shipment-count', 'currency')
        )
    ) as contradicted_invoices
from counted as c
join invoice_state as i on i.invoice_id = c.invoice_id
group by all

-- name: invoices-left-out
select count(*) as invoices
from filtered_invoices
where not matches_level(invoice_level)

-- name: not-counted
-- Announced invoices that are in no total: the first three by number, with their count and the last billed
-- day. An invoice without dates may be of any period.
with dated as (
    select
        *,
        report_date_of(coalesce(invoice_start_date, invoice_date), invoice_date) as first_day,
        report_date_of(coalesce(invoice_end_date, invoice_date), invoice_date) as last_day,
        load_id is not null
        and coalesce(first_loaded_at <= try_cast(getvariable('as_known_on') as timestamptz) at time zone 'UTC', true)
            as is_loaded
    from known_invoices
    where voided_at is null
    and state <> 'voided'
    and coalesce(first_seen_at <= try_cast(getvariable('as_known_on') as timestamptz) at time zone 'UTC', true)
),
billed as (
    select max(day) as billed_to
    from (
        select unnest([report_date_of(last_ship_date, invoice_date), report_date_of(invoice_end_date, invoice_date)]) as day
        from dated
        where is_loaded
        union all
        -- A line that is dated too late hides no other line of its invoice.
        select ship_date
        from known_shipments
        where invoice_id in (
            select invoice_id from dated where is_loaded and report_date_of(last_ship_date, invoice_date) > known_on()
        )
        and getvariable('date_basis') = 'ship-date'
    )
    where day <= known_on()
),
absent as (
    select
        coalesce(invoice_number, cast(invoice_id as varchar)) as number,
        invoice_id,
        coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
        if(load_id is null, state, 'finalized') as state,
        cast(cast(stated_total_amount as decimal(38, 2)) as varchar) || ' ' || stated_currency_code as stated,
        stated_total_amount,
        stated_currency_code,
        count(*) over () as found
    from dated
    where not is_loaded
    and matches_level(invoice_level)
    and matches_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
    and (currency_code is null or matches_currency(currency_code))
    and ($from is null or last_day is null or last_day >= cast($from as date))
    and ($to is null or first_day is null or first_day <= cast($to as date))
),
stated as (
    select json_group_object(stated_currency_code, total) as totals
    from (
        select stated_currency_code, cast(sum(stated_total_amount) as varchar) as total
        from absent
        where stated_total_amount is not null and stated_currency_code is not null
        group by all
    )
),
missing as (
    from absent order by number, invoice_id limit 3
)
select b.billed_to, m.number, m.tenant, m.state, m.stated, coalesce(m.found, 0) as found, t.totals
from billed as b
cross join stated as t
left join missing as m on true
order by m.number, m.invoice_id
