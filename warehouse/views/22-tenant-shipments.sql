-- The shipments that are safe to sum: those of tenant-level invoices and of an unknown level, without partner-level invoices,
-- which bill the same shipments again. Group by currency_code and, where there are several, by partner_id. pounds is not
-- rounded. is_package is true on the first line of a carrier's tracking number, so that counting it counts packages.
create or replace view tenant_shipments as
select
    s.*,
    case s.billable_weight_unit
        when 'LB' then s.billable_weight::decimal(38, 14)
        when 'KG' then (s.billable_weight::decimal(27, 4) * 2.2046226218::decimal(11, 10))::decimal(38, 14)
    end as pounds,
    upper(regexp_replace(
        regexp_replace(trim(s.carrier_zone), '^(?:zone)?[\s_#:.-]*0*([1-9][0-9]*|0)$', '\1', 'i'),
        '^zone[\s_#:.-]+([^\s_#:.-].*)$', '\1', 'is'
    )) as zone,
    strftime(s.ship_date, '%Y-%m') as ship_month,
    strftime(s.invoice_generation_date, '%Y-%m') as invoice_month,
    row_number() over (
        partition by s.partner_id, s.carrier, s.tracking_number order by s.ship_date, s.invoice_id, s.row_number
    ) = 1 as is_package
from shipments as s
where s.invoice_level <> 'partner';
