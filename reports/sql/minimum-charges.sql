-- title: Shipments at the minimum charge
-- purpose: Audit, 8
-- grain: month of the reported date, carrier, service level, currency
-- params: $min_shipments integer = 3: a price counts only if it has at least this many lines in the month
--   $min_cells integer = 3: the lowest price is a minimum charge if at least this many zones and weights have it
-- means: A price is the median charge of a month for one carrier, service, zone and weight in whole pounds. When the
--   lowest price of a service is that of at least `min_cells` zones and weights (`priced_alike`), it is taken for the
--   minimum charge. `floor_shipments` counts the charges within the filters of exactly this amount, `shipments` all
--   charges of the service. `change` compares with the last month before that had a minimum charge. Only the filter by
--   tenant limits the prices.
-- order: currency; month; carrier; service_level
-- limits: The price list is not known, nor the cost without a minimum. A fuel surcharge within the price moves the
--   minimum. Filter by tenant when tenants have their own prices.
-- units: share_of_shipments %, change_percent %
-- chart: line key=month value=share_of_shipments series=carrier+service_level
-- drilldown: shipments by month, carrier, service_level, currency_code, lines=charges; shipments
--   shipments by month, carrier, service_level, currency_code, minimum_charge as billing_cost; floor_shipments=shipments, floor_cost=billing_cost
-- example: 1, 2 and 3 lb into zone 2 and 1 lb into zone 3 cost 9 each, so 9 is the minimum, up to 3 lb; four of five
--   lines cost it.
--   lines: carrier_zone | billable_weight | billing_cost
--   2 | 1 | 9
--   2 | 2 | 9
--   3 | 1 | 9
--   2 | 3 | 9
--   3 | 2 | 9.8
--   with: min_shipments=1
--   rows: month | minimum_charge | priced_alike | up_to_lb | shipments | floor_shipments | floor_cost | share_of_shipments
--   2026-03 | 9.0000 | 4 | 3 | 5 | 4 | 36.0000 | 80.00
with
-- A list is cheaper than a window over all prices.
listed as (
    select
        start,
        carrier,
        service_level,
        currency_code,
        zone,
        rated as lb,
        sum(shipments) as n,
        list(counted_value(billing_cost, shipments)) as prices
    from price_counts(
        month_start(report_date), service_level, rated_lb(billable_weight, billable_weight_unit), 'tenant_shipments'
    )
    group by all
    having sum(shipments) >= $min_shipments
),
cells as (
    select * exclude (middle), twice_middle((middle).low, (middle).high) as price
    from (select * exclude (prices), middle_values(list_sort(prices), n) as middle from listed)
),
minima as (
    select start, carrier, service_level, currency_code, price, count(*) as priced_alike, max(lb) as up_to_lb
    from cells
    group by start, carrier, service_level, currency_code, price
    qualify row_number() over (partition by start, carrier, service_level, currency_code order by price) = 1
),
floors as (
    select
        *,
        lag(price) over (partition by carrier, service_level, currency_code order by start) as price_before
    from minima
    where priced_alike >= $min_cells
),
counted as (
    select
        f.start,
        f.carrier,
        f.service_level,
        f.currency_code,
        count(*) as shipments,
        count(*) filter (where 2 * ten_thousandths(s.billing_cost) = f.price) as floor_shipments,
        coalesce(sum(s.billing_cost) filter (where 2 * ten_thousandths(s.billing_cost) = f.price), 0) as floor_cost
    from selected_shipments as s
    join floors as f
        on f.carrier = s.carrier and f.service_level = s.service_level and f.currency_code = s.currency_code
        and f.start = month_start(s.report_date)
    where s.billing_cost > 0
    group by all
)
select
    month_of(f.start) as month,
    f.carrier,
    f.service_level,
    f.currency_code,
    half_amount(f.price) as minimum_charge,
    f.priced_alike,
    f.up_to_lb,
    c.shipments,
    c.floor_shipments,
    c.floor_cost,
    percent_of(c.floor_shipments, c.shipments) as share_of_shipments,
    half_amount(f.price - f.price_before) as change,
    percent_of_twice(f.price - f.price_before, f.price_before) as change_percent
from floors as f
join counted as c using (start, carrier, service_level, currency_code)
order by f.currency_code, f.start, f.carrier, f.service_level
