-- Every tenant that is asked for, billed or not, as the reports call it.
select
    k.partner_id,
    k.tenant_id,
    coalesce(l.label, k.tenant, k.partner_tenant_id, k.tenant_id) as tenant
from known_tenants as k
left join tenant_labels as l on l.tenant_key = tenant_key(k.tenant_id, k.tenant)
where is_asked_partner(k.partner_id)
and is_asked_tenant(k.tenant_id, coalesce(l.label, k.tenant, k.partner_tenant_id))
order by tenant, k.tenant_id, k.partner_id
