-- Every tenant goes by the name that its rows have.
create or replace temp view base_shipments as
select * from known_shipments
