-- What --tenant may mean: each tenant by the key that its rows have in the reports, with everything that it is or was
-- called. A partner-level invoice's rows carry the partner's name.
with known as (
    select
        tenant_id,
        coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
        partner_tenant_id,
        to_json(names) as names
    from known_tenants
    where is_asked_partner(partner_id)
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
