-- What --carrier may mean: as carriers are written in all files, those of voided invoices too.
select distinct coalesce(carrier, '') as value from (select distinct carrier from shipment_rows) order by value
