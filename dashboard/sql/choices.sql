-- The choices of filter forms. One query for each column, because DuckDB finds the few values of one column
-- by the column's own dictionary; currencies are noted with each invoice.
select 'tenants' as filter, coalesce(tenant, partner_tenant_id, tenant_id) as value
from (select distinct tenant, partner_tenant_id, tenant_id from tenants)
union
select 'tenants', partner
from partners
where partner is not null
union all
-- There is nothing to choose where there is one.
select 'partners', partner_id
from partners
where partner_id is not null and (select count(partner_id) from partners) > 1
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
