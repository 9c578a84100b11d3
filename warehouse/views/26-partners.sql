-- A row per partner, with the name from the latest partner-level invoice; null for invoices of an unknown partner (imported
-- without details).
create or replace view partners as
select
    i.partner_id,
    arg_max(l.tenant, row(coalesce(i.invoice_date, ''), i.loaded_at, i.invoice_id))
        filter (where i.invoice_level = 'partner') as partner,
    count(distinct i.tenant_id) as tenants,
    count(*) as invoices
from internal.owned_invoices as i
left join internal.loads as l on l.load_id = i.current_load_id
group by i.partner_id;
