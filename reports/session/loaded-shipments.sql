-- The lines of the reported level that are loaded, whatever the filters: a line that is examined (`is_examined`, it passes
-- them) is compared with these. Of one level, because a partner-level invoice sums the shipments of all tenants and adding
-- both would count twice (spec 2.9). An unknown level counts with the tenants.
-- `rated` is the weight as its carrier rates it: in whole pounds, unless a file of --weights says otherwise.
create or replace temp view loaded_shipments as
select
    *,
    coalesce(invoice_level, 'unknown') as level,
    case when getvariable('date_basis') = 'invoice-date' then invoice_generation_date else ship_date end as report_date,
    normal_zone(carrier_zone) as zone,
    passes_filters(tenant_id, tenant, carrier, carrier_zone, currency_code, ship_date, invoice_generation_date) as is_examined,
    rated_lb(billable_weight, billable_weight_unit) as rated
from base_shipments
where list_contains(cast(getvariable('levels') as varchar[]), coalesce(invoice_level, 'unknown'))
