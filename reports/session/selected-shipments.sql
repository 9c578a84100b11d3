-- The shipments a report counts: those that pass the filters, of one level, because a partner-level invoice sums the
-- shipments of all tenants and adding both would count twice (spec 2.9). An unknown level counts with the tenants.
create or replace temp view selected_shipments as
select * from filtered_shipments where list_contains(cast(getvariable('levels') as varchar[]), level)
