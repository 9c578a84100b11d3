-- How many of the rows that pass the filters are weighed in which unit, by invoice.
create or replace temp view weighed as
select
    invoice_id,
    billable_weight_unit as unit,
    count(*) as shipments,
    count(billable_weight) as with_weight
from filtered_shipments
group by all
