-- title: Everything a tenant is or was called
-- grain: name
select unnest(list_distinct(coalesce(names, []) || [tenant_id, partner_tenant_id])) as name
from tenants
