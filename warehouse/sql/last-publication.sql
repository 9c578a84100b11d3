select sequence, invoices::integer as invoices, shipments::integer as shipments, iso(published_at) as published_at
from publication_log
where sequence = (select max(sequence) from publication_log)
