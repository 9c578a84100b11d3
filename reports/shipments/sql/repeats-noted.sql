-- The same, of all lines that pass the filters, as the publication noted them (ADR 25): as they are now, and of one level.
select partner_id, currency_code, carrier, tracking_number
from asked_repeats
