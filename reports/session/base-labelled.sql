-- Some tenants go by another name than their rows have.
create or replace temp view base_shipments as
select s.* replace (coalesce(n.label, s.tenant) as tenant)
from known_shipments as s
left join tenant_labels as n on n.tenant_key = tenant_key(s.tenant_id, s.tenant)
