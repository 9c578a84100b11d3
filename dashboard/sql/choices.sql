-- What the filters of a form can be set to.
select distinct 'tenants' as filter, tenant as value from shipments
union all
select distinct 'carriers', carrier from shipments
union all
select distinct 'zones', coalesce(carrier_zone, '') from shipments
union all
select distinct 'currencies', currency_code from shipments
order by filter, value
