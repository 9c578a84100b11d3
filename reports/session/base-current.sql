-- What the reports read: the shipments of finalized, not voided invoices as they are known now.
create or replace temp view base_shipments as
select * from shipments
