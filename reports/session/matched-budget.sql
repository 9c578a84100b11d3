-- The rows of --budget for whose month, tenant and carrier a line is loaded, whatever the filters.
create or replace temp view matched_rows as
with billed as (
    select distinct
        month_of(report_date) as month, lower(tenant) as tenant, lower(tenant_id) as tenant_id, lower(carrier) as carrier
    from loaded_shipments
)
select distinct f.line
from billed as s
join budget as f
    on f.month = s.month and (f.tenant is null or lower(f.tenant) in (s.tenant, s.tenant_id))
    and (f.carrier is null or lower(f.carrier) = s.carrier)
