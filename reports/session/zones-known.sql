-- What --zone may mean: as zones are written in all files, those of voided invoices too. The empty text is none.
select distinct coalesce(carrier_zone, '') as value from (select distinct carrier_zone from shipment_rows) order by value
