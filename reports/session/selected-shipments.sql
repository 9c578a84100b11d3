-- The shipments a report counts: those that pass the filters, of one level.
create or replace temp view selected_shipments as
select * from loaded_shipments where is_examined
