-- title: How long until a shipment is billed?
-- grain: carrier, currency
-- means: days from ship date to the carrier's invoice, from there to our invoice, and in all. Medians and ninth
--   deciles are whole days that really occurred. Shipments without a carrier invoice date count in the last pair only.
--   before_shipping counts lines dated before their own ship date.
-- cannot say: who caused a delay; nor anything of shipments that were not billed yet (see "accrual").
-- units: ship_to_carrier_median days, ship_to_carrier_ninth_decile days, carrier_to_invoice_median days,
--   carrier_to_invoice_ninth_decile days, ship_to_invoice_median days, ship_to_invoice_ninth_decile days,
--   ship_to_invoice_longest days
-- chart: bar key=carrier value=ship_to_invoice_median
select
    carrier,
    currency_code,
    count(*) as shipments,
    count(carrier_invoice_date) as with_carrier_invoice_date,
    quantile_disc(carrier_invoice_date - ship_date, 0.5) as ship_to_carrier_median,
    quantile_disc(carrier_invoice_date - ship_date, 0.9) as ship_to_carrier_ninth_decile,
    quantile_disc(invoice_generation_date - carrier_invoice_date, 0.5) as carrier_to_invoice_median,
    quantile_disc(invoice_generation_date - carrier_invoice_date, 0.9) as carrier_to_invoice_ninth_decile,
    quantile_disc(invoice_generation_date - ship_date, 0.5) as ship_to_invoice_median,
    quantile_disc(invoice_generation_date - ship_date, 0.9) as ship_to_invoice_ninth_decile,
    max(invoice_generation_date - ship_date) as ship_to_invoice_longest,
    count(*) filter (where least(carrier_invoice_date, invoice_generation_date) < ship_date) as before_shipping
from selected_shipments
group by carrier, currency_code
order by currency_code, count(*) desc, carrier
