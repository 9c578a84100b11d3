-- How much there is by level, whatever the filters: what decides which level is the one to report. By partner, so that it is read
-- once for all who ask. A load says how many rows it has, so that no row is read.
select
    partner_id,
    invoice_level as level,
    count(*) as all_invoices,
    cast(coalesce(sum(shipments) filter (where voided_at is null), 0) as bigint) as all_shipments
from invoices
group by all
order by level
