-- All invoices of the partners that were asked for, whatever their state, with the names that the reports give to tenants.
-- An invoice that has no rows yet takes the name under which the same tenant was billed before.
create or replace temp view known_invoices as
select i.* replace (coalesce(l.label, t.tenant, i.tenant) as tenant)
from invoices as i
left join known_tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
left join tenant_labels as l on l.tenant_key = tenant_key(i.tenant_id, i.tenant)
where is_asked_partner(i.partner_id)
