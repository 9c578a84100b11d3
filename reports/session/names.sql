-- name: partners
select partner_id, partner from main.partners order by partner_id nulls last

-- name: partner-ids
select distinct partner_id, null as partner from invoice_state order by partner_id nulls last

-- name: tenants-are-plain
-- One name for each tenant, all different: four times as fast as finding labels.
with named as (
    select
        i.tenant_id,
        case when i.tenant_id is null then l.tenant end as own_name,
        min(l.tenant) as name,
        max(l.tenant) as last_name,
        min(i.partner_tenant_id) as partner_name,
        max(i.partner_tenant_id) as last_partner_name
    from invoice_state as i
    left join loads as l on l.load_id = i.current_load_id
    where coalesce(i.invoice_level, 'tenant') <> 'partner' and (i.tenant_id is not null or l.tenant is not null)
    group by i.tenant_id, own_name
)
select
    count(*) = count(distinct coalesce(name, partner_name, tenant_id))
    and not coalesce(bool_or(name < last_name or (name is null and partner_name < last_partner_name)), false) as are_plain
from named

-- name: no-labels
create or replace temp table tenant_labels (tenant_key varchar, label varchar)

-- name: tenant-labels
-- Only for renamed tenants (latest name) and shared names (with id, or "no id").
create or replace temp table tenant_labels as
with named as (
    select
        tenant_key(tenant_id, tenant) as tenant_key,
        tenant_id,
        coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
        len(names) > 1 as is_renamed
    from tenants
    where matches_partner(partner_id)
),
counted as (
    select tenant_key, any_value(tenant_id) as tenant_id, any_value(tenant) as tenant, bool_or(is_renamed) as is_renamed
    from named
    group by tenant_key
),
labelled as (
    select
        tenant_key,
        is_renamed,
        tenant,
        case
            when tenant_id is not null and count(tenant_id) over same > 1 then tenant || ' (' || tenant_id || ')'
            when tenant_id is null and count(tenant_id) over same > 0 then tenant || ' (no id)'
            else tenant
        end as label
    from counted
    window same as (partition by tenant)
)
select tenant_key, label from labelled where is_renamed or label <> tenant

-- name: tenants-known
-- By the key of its rows, with present and former names. Rows of a partner-level invoice have the partner's
-- name.
with known as (
    select
        tenant_id,
        coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
        partner_tenant_id,
        to_json(names) as names
    from tenants
    where matches_partner(partner_id)
    union
    select null, partner, null, '[]' from main.partners where partner is not null
    union
    select null, tenant, null, '[]'
    from (select distinct tenant, tenant_id is null as has_no_id from known_shipments)
    where has_no_id
)
select
    tenant_key(k.tenant_id, coalesce(l.label, k.tenant)) as tenant_key,
    coalesce(l.label, k.tenant) as label,
    k.*
from known as k
left join tenant_labels as l on l.tenant_key = tenant_key(k.tenant_id, k.tenant)
order by k.tenant, k.tenant_id nulls last

-- name: carriers-known
-- Includes voided invoices; the empty text means none.
select distinct coalesce(carrier, '') as value
from (select distinct carrier from shipment_rows)
order by value

-- name: zones-known
select distinct coalesce(carrier_zone, '') as value
from (select distinct carrier_zone from shipment_rows)
order by value

-- name: currencies-known
select distinct currency_code as value from known_shipments
union
select distinct currency_code from invoices where currency_code is not null
order by value
