-- What the filters of a form can be set to. A reading for each column, because DuckDB finds the few values of one column
-- by the column's own dictionary; currencies are noted with each invoice.
select 'tenants' as filter, tenant as value
from (select distinct tenant from shipments)
union all
select 'carriers', carrier
from (select distinct carrier from shipments)
union all
select 'zones', coalesce(carrier_zone, '')
from (select distinct carrier_zone from shipments)
union all
select distinct 'currencies', unnest(string_split(currencies, ','))
from invoices
where shipments > 0 and voided_at is null
order by filter, value
