select sequence, invoices::double as invoices, shipments::double as shipments, iso(published_at) as published_at
from publication_log
where sequence = (select max(sequence) from publication_log)
