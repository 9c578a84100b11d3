-- A row per carrier of a partner. Spellings in upper and lower case are one carrier, named as on most lines.
create or replace view carriers as
select
    partner_id,
    arg_max(carrier, row(shipments, carrier)) as carrier,
    list_sort(list(carrier)) as names,
    list_sort(list_distinct(flatten(list(service_levels)))) as service_levels,
    cast(sum(shipments) as bigint) as shipments,
    min(first_ship_date) as first_ship_date,
    max(last_ship_date) as last_ship_date
from (
    select
        partner_id, carrier, list(distinct service_level) filter (where service_level is not null) as service_levels,
        count(*) as shipments, min(ship_date) as first_ship_date, max(ship_date) as last_ship_date
    from shipments
    where invoice_level <> 'partner'
    group by partner_id, carrier
)
group by partner_id, lower(trim(carrier));
