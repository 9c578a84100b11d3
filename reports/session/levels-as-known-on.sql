-- The same as levels, of the shipments that counted at an instant; of invoices as they are now.
select i.partner_id, i.level, i.all_invoices, coalesce(s.all_shipments, 0) as all_shipments
from (select partner_id, invoice_level as level, count(*) as all_invoices from invoices group by all) as i
left join (select partner_id, invoice_level as level, count(*) as all_shipments from known_shipments group by all) as s
    on s.level = i.level and s.partner_id is not distinct from i.partner_id
order by level
