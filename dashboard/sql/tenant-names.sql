-- How tenants are called, by id: of these alone.
select partner_id, tenant_id, tenant
from tenants
where list_contains(cast($tenants as varchar[]), tenant_id)
