-- What is billed by month, as it is noted, by the names of the reports and of the partners that were asked for.
create or replace temp view base_months as
select m.* replace (coalesce(n.label, m.tenant) as tenant)
from noted_months as m
left join tenant_labels as n on n.tenant_key = tenant_key(m.tenant_id, m.tenant)
where is_asked_partner(m.partner_id)
