-- How many invoices pass the filters and are of a level that is not reported.
select count(*) as invoices
from filtered_invoices
where not list_contains(cast(getvariable('levels') as varchar[]), invoice_level)
