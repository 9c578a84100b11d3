-- The same with conditions on what is not noted: only numbers that the publication noted can stand on two lines, and of the lines that were asked
-- for those are compared that have one.
select s.partner_id, s.currency_code, s.carrier, s.tracking_number
from selected_shipments as s
semi join (select distinct tracking_number from repeated_shipments) as r on r.tracking_number = s.tracking_number
where {{conditions}}
