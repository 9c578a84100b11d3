-- All charges of the selected tenants, whatever the other filters: tenants may have prices of their own, so that
-- a price is followed through these.
create or replace temp view tenant_shipments as
select * from loaded_shipments where is_asked_tenant(tenant_id, tenant)
