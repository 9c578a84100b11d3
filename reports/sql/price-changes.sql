-- title: When did prices change, and was it a general increase?
-- grain: month, carrier, service level, currency
-- source: weights
-- params: $min_shipments integer = 3: a cell counts in a month with at least so many shipments
--   $min_cells integer = 3: fewer compared cells are never called general
-- means: a cell is one zone and rated weight of a service (the billed weight, rounded up to a whole pound or to the
--   carrier's own step, --weights FILE). Its median price (the mean of the two middle ones) is compared
--   with its median in the last month before in which it was seen. median_change_percent is the median of the cells'
--   changes, rounded once. A month is a general increase when at least 80 % of its compared cells were raised, a general
--   decrease likewise. Months without any change are left out; so are credits, lines of zero, and lines without a
--   service, zone or weight.
-- cannot say: why. A new contract, a surcharge folded in and a general rate increase look the same from outside.
-- units: share_raised %, median_change_percent %
-- chart: line key=month value=median_change_percent series=carrier+service_level
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
    currency_code,
    cells_compared,
    cells_raised,
    cells_lowered,
    percent_of(cells_raised, cells_compared) as share_raised,
    median_change_percent,
    shipments,
    verdict
from price_moves($min_shipments, $min_cells)
order by currency_code, start, carrier, service_level
