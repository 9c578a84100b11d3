-- The shipments a report counts: those that pass the filters, of one level, because a partner-level invoice sums the
-- shipments of all tenants and adding both would count twice (spec 2.9). An unknown level counts with the tenants.
-- `rated` is the weight as its carrier rates it: in whole pounds, unless a file of --weights says otherwise.
create or replace temp view selected_shipments as
select *, rated_lb(billable_weight, billable_weight_unit) as rated from filtered_shipments where list_contains(cast(getvariable('levels') as varchar[]), level)
