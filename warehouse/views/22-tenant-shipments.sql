-- The shipments that are safe to sum: those of tenant-level invoices and of an unknown level, without partner-level invoices,
-- which bill the same shipments again. Group by currency_code and, where there are several, by partner_id. pounds is not
-- rounded. is_package is true on the first line of a carrier's tracking number, so that counting it counts packages.
create or replace view tenant_shipments as
select
    s.*,
    lb_of(s.billable_weight, s.billable_weight_unit) as pounds,
    normal_zone(s.carrier_zone) as zone,
    strftime(s.ship_date, '%Y-%m') as ship_month,
    strftime(s.invoice_generation_date, '%Y-%m') as invoice_month,
    row_number() over (
        partition by s.partner_id, s.carrier, s.tracking_number order by s.ship_date, s.invoice_id, s.row_number
    ) = 1 as is_package
from shipments as s
where s.invoice_level <> 'partner';
