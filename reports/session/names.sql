-- name: partners
select partner_id, partner from main.partners order by partner_id nulls last

-- name: tenant-labels
-- There is a label only for renamed tenants (latest name) and shared names (with id, or "no id").
create or replace temp table tenant_labels as
with named as (
    select
        tenant_key(tenant_id, tenant) as tenant_key,
        tenant_id,
        coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
        len(names) > 1 as is_renamed
    from tenants
    where matches_partner(partner_id)
    union all
    -- Lines of a partner-level invoice have the partner's name, which may be that of a tenant.
    select distinct tenant_key(null, tenant), null, tenant, false
    from invoices
    where invoice_level = 'partner' and tenant is not null and matches_partner(partner_id)
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

-- name: tenant-label-count
select count(*) as labels from tenant_labels

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
-- Includes voided invoices.
select distinct carrier as value from shipment_rows order by value

-- name: zones-known
-- Includes voided invoices; the empty text means none.
select coalesce(carrier_zone, '') as value from (select distinct carrier_zone from shipment_rows) order by value

-- name: currencies-known
select distinct currency_code as value from known_shipments
union
select distinct currency_code from invoices where currency_code is not null
order by value
