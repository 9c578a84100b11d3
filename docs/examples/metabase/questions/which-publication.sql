-- The publication of these values. Number, for a corner of every dashboard.
select published_at, sequence, loaded_invoices, shipments
from publication
