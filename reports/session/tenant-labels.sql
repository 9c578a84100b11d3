-- What a tenant is called where its own rows do not say it, or others are called alike: a tenant that was renamed goes by its
-- latest name, and of several ids with one name each is told by its id. A name without id, which another has with one,
-- is told as that. Rows of all other tenants say their name themselves.
create or replace temp table tenant_labels as
with named as (
    select
        tenant_key(tenant_id, tenant) as tenant_key,
        tenant_id,
        coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
        len(names) > 1 as is_renamed
    from known_tenants
    where is_asked_partner(partner_id)
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
