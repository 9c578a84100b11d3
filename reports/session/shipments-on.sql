-- The shipments as they were known at an instant, of the partners that were asked for and by the names of the reports, for
-- those that ask about several instants.
create or replace temp macro shipments_on(instant) as table
    select s.* replace (coalesce(n.label, s.tenant) as tenant)
    from shipments_as_known_on(instant) as s
    left join tenant_labels as n on n.tenant_key = tenant_key(s.tenant_id, s.tenant)
    where is_asked_partner(s.partner_id)
