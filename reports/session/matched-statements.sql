-- The rows of --statements for whose carrier, date and currency a line is loaded, whatever the filters.
create or replace temp view matched_rows as
select distinct f.line
from loaded_shipments as s
join statements as f
    on lower(f.carrier) = lower(s.carrier) and f.carrier_invoice_date = s.carrier_invoice_date
    and f.currency_code = s.currency_code
