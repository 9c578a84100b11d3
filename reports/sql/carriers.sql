-- title: What did each carrier's shipments cost?
-- grain: carrier, currency
-- means: billing_cost sums the shipments of finalized invoices, credits (negative lines) included; credits shows them apart. cost_per_shipment
--   and cost_per_lb are that sum divided, rounded once, half away from zero, to four decimals. Kilograms are summed,
--   then brought to pounds at 2.2046226218.
-- cannot say: surcharges, dimensional weight, destination and margin are not in an invoice file.
-- units: billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb, credits money
-- detail: credits
-- chart: bar key=carrier value=billing_cost
-- example: UPS carried 8 and 12, less a credit of 2: 18 for three lines, 6 each. They weigh 1 lb and twice 1 kg, 5.4092 lb
--   (2 x 2.2046226218 is 4.4092452436); 18 by 5.4092452436 is 3.3276.
--   lines: carrier | billable_weight | billable_weight_unit | billing_cost
--   ups | 1 | LB | 8
--   ups | 1 | KG | 12
--   ups | 1 | KG | -2
--   rows: carrier | shipments | billing_cost | cost_per_shipment | billable_weight_lb | cost_per_lb | credits
--   ups | 3 | 18.0000 | 6.0000 | 5.4092 | 3.3276 | -2.0000
select
    carrier,
    currency_code,
    count(distinct invoice_id) as invoices,
    cast(sum(shipments) as bigint) as shipments,
    sum(billing_cost) as billing_cost,
    per(sum(billing_cost), sum(shipments)) as cost_per_shipment,
    sum_lb(weight, unit) as billable_weight_lb,
    per_lb(sum(billing_cost), weight, unit) as cost_per_lb,
    sum(credits) as credits
from invoiced_months
group by carrier, currency_code
order by currency_code, sum(billing_cost) desc, carrier
