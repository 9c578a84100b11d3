-- The publication of these values. Number: add it to every dashboard.
select published_at, sequence, loaded_invoices, shipments
from publication
