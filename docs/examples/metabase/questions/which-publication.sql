-- Which publication these figures are of. Number: put it in a corner of every dashboard.
select published_at, sequence, loaded_invoices, shipments
from publication
