-- name: publication
select sequence, published_at, invoices, shipments, events from publication

-- name: states
select state, count(*) as invoices from invoice_state group by state order by state

-- name: invoice-lines
select row_number, tracking_number, ship_date, carrier, service_level, carrier_zone, billing_cost, currency_code
from shipments
where invoice_id = try_cast($invoice as uuid)
order by row_number
limit $limit

-- name: invoices
-- A null filter means "all"; `found` is the number of all matches. Sorts narrow rows, since whole rows of many
-- invoices are slow. A tenant that no file of the invoice names has the name under which it was billed before.
with matching as (
    select
        i.invoice_id,
        coalesce(i.tenant, t.tenant, i.partner_tenant_id, i.tenant_id) as tenant,
        count(*) over () as found,
        row_number() over (
            order by
                case when $sort = 'number' then i.invoice_number end,
                case when $sort = 'tenant' then coalesce(i.tenant, t.tenant, i.partner_tenant_id, i.tenant_id) end nulls last,
                case when $sort = 'state' then i.state end,
                case when $sort = 'cost' then i.billing_cost end desc nulls last,
                case when $sort = 'shipments' then i.shipments end desc nulls last,
                case when $sort = 'date' then i.invoice_date end desc nulls last,
                case when $sort = 'loaded' then i.loaded_at end desc,
                case when $sort = 'waiting' then i.state_since end,
                i.state_since desc,
                i.invoice_number,
                i.invoice_id
        ) as ascending_place,
        if($is_reversed, found + 1 - ascending_place, ascending_place) as place
    from invoices as i
    left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
    where ($states is null or list_contains(cast($states as varchar[]), i.state))
    and ($month is null or strftime(i.invoice_date, '%Y-%m') = $month)
    -- A line that was billed late lies outside of the invoice's period, which is no contradiction.
    and ($sort <> 'loaded' or i.discrepancy_rules <> 'period')
    and (
        $tenants is null
        or list_has_any(
            [lower(each) for each in cast($tenants as varchar[])],
            [
                lower(name)
                for name in coalesce(t.names, []) || [i.tenant, i.partner_tenant_id, i.tenant_id, t.partner_tenant_id]
            ]
            || [left(sha256(name), 12) for name in coalesce(t.names, []) || [i.tenant]]
        )
    )
    and (
        $search is null
        or starts_with(lower(cast(i.invoice_id as varchar)), lower($search))
        or contains(lower(i.invoice_number), lower($search))
        or contains(lower(coalesce(i.partner_invoice_id, '')), lower($search))
    )
)
select
    i.invoice_id, i.invoice_number, m.tenant, i.invoice_level, i.state, i.state_since, i.invoice_date, i.currency_code,
    i.stated_total_amount, i.stated_currency_code, i.billing_cost, i.shipments, i.proof, i.discrepancies, i.reason, i.first_seen_at,
    -- The dates of late charges contradict nothing.
    regexp_matches(coalesce(i.discrepancy_rules, ''), '\b(total-amount|shipment-count|currency)\b') as is_contradicted,
    i.reason_code, i.discrepancy_rules, i.loaded_at, m.found
from matching as m
join invoices as i on i.invoice_id = m.invoice_id
where m.place > $offset and m.place <= $offset + $limit
order by m.place

-- name: events
with found as (
    select event_id, received_at, event_type, verdict, reason, is_test_event, invoice_id, invoice_number, duplicates
    from events
    where ($verdict is null or verdict = $verdict)
    and ($type is null or event_type = $type)
    and (
        $search is null
        or starts_with(lower(event_id), lower($search))
        or starts_with(lower(cast(invoice_id as varchar)), lower($search))
        or contains(lower(coalesce(invoice_number, '')), lower($search))
    )
)
select *, (select count(*) from found) as found
from found
order by received_at desc, event_id
limit $limit offset $offset

-- name: found
with matching as (
    select 'invoice' as kind, cast(invoice_id as varchar) as id, invoice_number as name, cast(null as varchar) as more,
        lower($text) in (lower(invoice_number), cast(invoice_id as varchar), lower(partner_invoice_id)) as is_exact
    from invoice_state
    where contains(lower(invoice_number), lower($text))
    or cast(invoice_id as varchar) = lower($text)
    or lower(partner_invoice_id) = lower($text)
    union all
    select 'event', cast(event_id as varchar), cast(event_id as varchar), event_type, true
    from events
    where lower(cast(event_id as varchar)) = lower($text)
    union all
    select 'tenant', coalesce(tenant_id, tenant), coalesce(tenant, partner_tenant_id, tenant_id), partner_tenant_id,
        list_contains(
            [lower(name) for name in coalesce(names, []) || [tenant, tenant_id, partner_tenant_id]], lower($text)
        )
    from tenants
    where contains(
        lower(concat_ws(chr(10), array_to_string(names, chr(10)), tenant, tenant_id, partner_tenant_id)), lower($text)
    )
)
select kind, id, coalesce(name, id) as name, more, count(*) over () as found
from matching
order by is_exact desc, kind desc, name, id
limit 30

-- name: tracked
-- Lines of every level, of invoices that count now.
select
    cast(invoice_id as varchar) as invoice_id, invoice_number, tenant, invoice_level, ship_date, carrier, service_level,
    carrier_zone, tracking_number, billing_cost, currency_code, row_number, count(*) over (partition by tracking_number) as found
from shipments
where tracking_number in ($text, $letters)
order by ship_date, invoice_id, row_number
limit 200

-- name: found-carriers
select carrier, count(*) over () as found
from (select distinct carrier from shipments)
where contains(lower(carrier), lower($text))
order by carrier
limit 20

-- name: tracked-part
select tracking_number, count(*) as lines, count(*) over () as found
from shipments
where starts_with(lower(tracking_number), lower($text))
group by tracking_number
order by tracking_number
limit 20

-- name: names-of-ids
select distinct tenant_id as id, tenant as name from tenants where tenant_id is not null and tenant is not null
union
select partner_id, partner from partners where partner_id is not null and partner is not null

-- name: choices
-- The largest values of each filter: of carriers and zones by cost in any currency, of the others by invoices. Every list has a limit,
-- since a file may have as many values as lines.
with
tenant_names as (
    select coalesce(tenant, partner_tenant_id, tenant_id) as value, invoices
    from tenants
    union all
    select partner, invoices
    from partners
    where partner is not null
),
every as (
    select 'tenants' as filter, value, null as currency_code, sum(invoices) as size
    from tenant_names
    group by value
    union all
    -- Partners are offered as a filter only when there is more than one.
    select 'partners', partner_id, null, invoices
    from partners
    where partner_id is not null and (select count(partner_id) from partners) > 1
    union all
    select 'carriers', carrier, currency_code, sum(billing_cost)
    from shipments
    group by carrier, currency_code
    union all
    select 'zones', coalesce(carrier_zone, ''), currency_code, sum(billing_cost)
    from shipments
    group by carrier_zone, currency_code
    union all
    select 'currencies', value, null, count(*)
    from (select unnest(string_split(currencies, ',')) as value from invoices where shipments > 0 and voided_at is null)
    group by value
),
ranked as (
    select filter, value, row_number() over (partition by filter, currency_code order by size desc, value) as place
    from every
),
placed as (
    select filter, value, row_number() over (partition by filter order by min(place), value) as place, count(*) over (partition by filter) as known
    from ranked
    group by filter, value
)
select filter, value, known
from placed
where place <= $most
order by filter, value
