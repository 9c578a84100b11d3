-- Which publication the pages show.
select sequence, published_at, invoices, shipments, events from publication
