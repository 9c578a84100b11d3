-- The same of the rows that the publication noted (ADR 25), as they are now and of one level: for conditions that ask nothing else
-- than what is noted of them. No other line has a number that stands on two.
select s.partner_id, s.currency_code, s.carrier, s.tracking_number
from asked_repeats as s
where {{conditions}}
