-- How many rows of each invoice are weighed in which unit, and whether they pass the filters.
create or replace temp view weighed as
select
    invoice_id,
    billable_weight_unit as unit,
    passes_filters(tenant_id, tenant, carrier, carrier_zone, currency_code, ship_date, invoice_generation_date) as passes,
    count(*) as shipments,
    count(billable_weight) as with_weight
from base_shipments
group by all
