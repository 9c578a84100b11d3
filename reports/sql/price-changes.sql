-- title: Price changes
-- purpose: Change, 3
-- grain: month of the reported date, carrier, service level (and zone), currency
-- source: weights
-- params: $by service|zone = service: a row for each service, or for each zone of it
--   $min_shipments integer = 3: a price counts in a month only if it has at least this many lines
--   $min_cells integer = 3: with fewer prices compared, no change is general
-- means: A price is the median charge of a month for one zone and rated weight, compared with the last month before
--   that had a price. `cells_compared` counts the zones and rated weights with both prices, `cells_raised` and
--   `cells_lowered` those that changed. `verdict` is "general increase" or "general decrease" when at least 80 % of
--   `min_cells` or more prices changed in that direction. The filters choose the charges that are examined; the prices
--   are of all charges of the selected tenants in whole months. A month without a change has no row.
-- order: currency; month; carrier; service_level; zone (numbers by size, then others by name)
-- limits: The reason is not known: a new contract, a surcharge within the price and a general increase look the same.
-- units: share_raised %, median_change_percent %
-- groups: zone
-- chart: line key=month value=median_change_percent series=carrier+service_level
--   heatmap key=zone y=month+carrier+service_level value=median_change_percent
-- drilldown: shipments by month, carrier, service_level, zone, currency_code
-- example: Zones 2, 5 and 8 cost 10, 20 and 30 in January and 10.50, 21 and 31 in February: raised by 5, 5 and 3.33 %,
--   of which the middle one is 5 %.
--   lines: ship_date | carrier_zone | billing_cost
--   2026-01-10 | 2 | 10
--   2026-01-10 | 5 | 20
--   2026-01-10 | 8 | 30
--   2026-02-10 | 2 | 10.5
--   2026-02-10 | 5 | 21
--   2026-02-10 | 8 | 31
--   with: min_shipments=1
--   rows: month | cells_compared | cells_raised | share_raised | median_change_percent | verdict
--   2026-02 | 3 | 3 | 100.00 | 5.00 | general increase
select
    month_of(start) as month,
    carrier,
    service_level,
    of_zone as zone,
    currency_code,
    cells_compared,
    cells_raised,
    cells_lowered,
    percent_of(cells_raised, cells_compared) as share_raised,
    median_change_percent,
    shipments,
    verdict
from price_moves($min_shipments, $min_cells, by_zone := $by = 'zone')
order by currency_code, start, carrier, service_level, zone_number(of_zone) nulls last, of_zone
