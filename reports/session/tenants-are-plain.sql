-- Whether every tenant of the file has one name and no two tenants the same, so that nobody needs a label (tenant-labels.sql): asked
-- first, since it costs a quarter of finding the labels. A tenant that no rows name yet goes by the partner's id of it.
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
