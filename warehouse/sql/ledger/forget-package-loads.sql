-- Loads of invoices that have another level now: the next publication compares their tracking numbers with those of that level.
delete from package_loads where load_id in (
    select load_id from loads where invoice_id in (select unnest($invoice_ids::uuid[]))
)
