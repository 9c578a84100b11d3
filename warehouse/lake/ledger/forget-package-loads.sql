-- Nothing is noted of tracking numbers in a lake.
select 1 where $invoice_ids::text is null
