-- What the reports read: the shipments of finalized, not voided invoices as they are known now, of the partners that were
-- asked for.
create or replace temp view known_shipments as
select * from shipments where is_asked_partner(partner_id)
