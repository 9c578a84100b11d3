-- title: What does shipping cost from each origin?
-- grain: origin postal code, currency
-- means: average_zone is the mean of the zones that are numbers. Shipments without an origin stand in a row of their own.
-- cannot say: where shipments went; destinations are not in an invoice file.
-- units: billing_cost money, cost_per_shipment money, billable_weight_lb lb, cost_per_lb money/lb, share_of_shipments %,
--   credits money
-- detail: credits
-- chart: bar key=origin value=billing_cost
select
    origin,
    currency_code,
    count(distinct invoice_id) as invoices,
    count(*) as shipments,
    percent_of(count(*), sum(count(*)) over (partition by currency_code)) as share_of_shipments,
    sum(billing_cost) as billing_cost,
    per(sum(billing_cost), count(*)) as cost_per_shipment,
    sum_lb(billable_weight, billable_weight_unit) as billable_weight_lb,
    per(sum(billing_cost), sum_lb(billable_weight, billable_weight_unit)) as cost_per_lb,
    mean_of(sum(zone_number(zone)), count(zone_number(zone))) as average_zone,
    credits_of(billing_cost) as credits
from selected_shipments
group by origin, currency_code
order by currency_code, sum(billing_cost) desc, origin
