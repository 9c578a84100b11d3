-- What the filters of a form can be set to; one reading of the rows for all four.
with seen as (
    select distinct tenant, carrier, coalesce(carrier_zone, '') as carrier_zone, currency_code from shipments
)
select distinct 'tenants' as filter, tenant as value from seen
union all
select distinct 'carriers', carrier from seen
union all
select distinct 'zones', carrier_zone from seen
union all
select distinct 'currencies', currency_code from seen
order by filter, value
