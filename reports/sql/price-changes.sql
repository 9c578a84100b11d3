-- title: Price changes
-- purpose: Change, 3
-- grain: month of the reported date, carrier, service level (and zone), currency
-- source: weights
-- params: $by service|zone = service: of what a row is: a service, or each zone of it
--   $min_shipments integer = 3: a price counts in a month only if it has at least this many lines
--   $min_cells integer = 3: with fewer prices compared, a change is not called general
-- means: a price is the median (the mean of the two middle ones, rounded to four decimals) that a month's lines of
--   one zone and rated weight cost; the rated weight is the billed weight, rounded up to a whole pound or to the
--   carrier's own step (--weights FILE). Each is compared with the same in the last month before it that had enough
--   lines. cells_compared counts the zones and rated weights with such a pair, cells_raised and cells_lowered those
--   that went up or down, shipments the month's lines behind them that pass the filters. The filters choose the lines that are
--   examined: a zone and rated weight counts in a month if one of its lines passes them. Its prices are of all lines of
--   the tenants that the filters name (all without such a filter) in whole months, so that a month is compared with
--   those before --from too. share_raised is cells_raised in percent of
--   cells_compared. median_change_percent is the median of the changes in percent, rounded once. The verdict is
--   "general increase" when at least 80 % of at least min_cells compared were raised, "general decrease" when as many
--   were lowered, else "some prices". A month without any change has no row. Only lines above zero with a service,
--   zone and weight are compared.
-- order: currency; month; carrier; service_level; zone (numbers by size, then others by name)
-- cannot say: why. A new contract, a surcharge folded into the price and a general rate increase look the same from
--   outside.
-- units: share_raised %, median_change_percent %
-- shown: zone zone
-- chart: line key=month value=median_change_percent series=carrier+service_level
--   heatmap key=zone y=month+carrier+service_level value=median_change_percent
-- drilldown: shipments by month, carrier, service_level, zone, currency_code
-- example: Zones 2, 5 and 8 cost 10, 20 and 30 in January and 10.50, 21 and 31 in February: raised by 5, 5 and 3.33 %, of
--   which the middle one is 5 %.
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
