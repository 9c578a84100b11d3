<<<<<<< HEAD
-- The publication of these values. Number, for a corner of every dashboard.
=======
-- The publication of these values. Number: add it to every dashboard.
>>>>>>> main
select published_at, sequence, loaded_invoices, shipments
from publication
