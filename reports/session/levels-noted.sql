-- How much there is by level, whatever the filters, as the publication noted it: what decides which level is the one to report.
select
    i.invoice_level as level,
    count(*) as all_invoices,
    cast(coalesce(sum(m.shipments), 0) as bigint) as all_shipments
from invoices as i
left join (select invoice_id, sum(shipments) as shipments from base_months group by invoice_id) as m
    on m.invoice_id = i.invoice_id
where is_asked_partner(i.partner_id)
group by all
order by level
