-- The view tenants, asked once for each session.
create or replace temp table known_tenants as
select * from tenants
