-- title: Accrual of unbilled freight
-- purpose: Month end, 2
-- grain: month of ship date, tenant, carrier, currency
-- params: $complete_after integer = 3: nothing more is expected this many months after the ship month (at most 6)
--   $min_months integer = 3: the number of earlier months that an estimate needs
--   $closing date: the last day of the month that is closed; by default of the latest month that has ended
-- means: An estimate of unbilled freight by the chain-ladder method, at the end of the month that is closed, `closed_on`:
--   invoices that are dated later are left out, so that every later day gives the same answer. `billed_by_0` is the
--   amount invoiced by the end of the ship month, `billed_by_1` by the end of the next month, and so on; `billing_cost`
--   is the last of them, and `age` counts the months that have ended since. `development_factor` is the growth that is
--   still expected at this age, taken from earlier months of the same tenant, carrier and currency.
--   `estimated_total` is `billing_cost` times the factor, and never below it; `unbilled_low` and `unbilled_high` use the
--   smallest and the largest growth of a single month. `basis` is "complete" from `complete_after` on, "chain ladder",
--   or the reason for a missing estimate. Dates choose the rows; growth is taken from all months.
-- order: currency; ship_month; tenant; carrier
-- limits: A change of volume in a month that is not billed yet is invisible. Filter by ship date: with `--by
--   invoice-date` earlier months look more complete than they are.
-- units: completion_percent %
-- detail: closed_on, billed_by_4, billed_by_5, billed_by_6, development_factor, history_months
-- chart: bar key=ship_month value=estimated_unbilled combine=sum
-- drilldown: shipments by ship_month, tenant, carrier, currency_code, closed_on as invoiced_to; billing_cost
-- example: On 31 May, January to March have grown from 60, 100 and 40 to 100, 160 and 60 within a month: (100 + 160 +
--   60) / (60 + 100 + 40) is 1.6. May has 50, and 50 times 1.6 is 80, so 30 are unbilled; with the smallest growth,
--   1.5, 25, with the largest, 5 by 3, 33.3333.
--   lines: ship_date | invoice_generation_date | billing_cost
--   2026-01-10 | 2026-01-31 | 60
--   2026-01-10 | 2026-02-28 | 40
--   2026-02-10 | 2026-02-28 | 100
--   2026-02-10 | 2026-03-31 | 60
--   2026-03-10 | 2026-03-31 | 40
--   2026-03-10 | 2026-04-30 | 20
--   2026-04-10 | 2026-05-31 | 90
--   2026-05-10 | 2026-05-31 | 50
--   published: 2026-05-31T22:00:00Z
--   with: complete_after=1
--   rows: ship_month | age | billing_cost | basis | estimated_total | estimated_unbilled | unbilled_low | unbilled_high
--   2026-01 | 4 | 100.0000 | complete | 100.0000 | 0.0000 | 0.0000 | 0.0000
--   2026-02 | 3 | 160.0000 | complete | 160.0000 | 0.0000 | 0.0000 | 0.0000
--   2026-03 | 2 | 60.0000 | complete | 60.0000 | 0.0000 | 0.0000 | 0.0000
--   2026-04 | 1 | 90.0000 | complete | 90.0000 | 0.0000 | 0.0000 | 0.0000
--   2026-05 | 0 | 50.0000 | chain ladder | 80.0000 | 30.0000 | 25.0000 | 33.3333
select
    month_of(start) as ship_month,
    tenant,
    carrier,
    currency_code,
    age,
    billed_by_0,
    billed_by_1,
    billed_by_2,
    billed_by_3,
    billed_by_4,
    billed_by_5,
    billed_by_6,
    billed_cost as billing_cost,
    basis,
    history_months,
    as_millionths(rounded_quotient(factor, 1000000)) as development_factor,
    case
        when basis = 'complete' then as_hundredths(10000)
        else as_hundredths(rounded_quotient(10000000000000000, factor))
    end as completion_percent,
    estimated_total,
    estimated_total - billed_cost as estimated_unbilled,
    estimated_low - billed_cost as unbilled_low,
    estimated_high - billed_cost as unbilled_high,
    closed_on
from accrual_estimates($complete_after, $min_months, $closing)
order by currency_code, start, tenant, carrier
