-- What the reports read when they are asked to answer as of an instant: versions and voids that came later are unseen.
create or replace temp view known_shipments as
select * from shipments_as_known_on(cast(getvariable('as_known_on') as timestamptz)) where is_asked_partner(partner_id)
