-- title: Accrual of unbilled freight
-- purpose: Month end, 2
-- grain: month of ship date, tenant, carrier, currency
-- params: $complete_after integer = 3: no more is expected this many months after the month of shipping (at most 6)
--   $min_months integer = 3: the number of earlier months that are needed to estimate the growth
-- means: an estimate by the chain-ladder method. age is how many months have ended since the month of shipping ended,
--   as of the publication or --as-known-on; a month counts as ended on its last day. billed_by_0 is what was invoiced
--   up to the end of the month of shipping, billed_by_1 up to the end of the next month, and so on; it is empty if
--   that month has not ended. The growth from one age to the next is what earlier months of the same tenant, carrier
--   and currency had at the later age divided by what they had at the earlier one (both summed over the months that
--   are above zero at both ages), to six decimals. development_factor multiplies the growth of all ages from the
--   month's own up to complete_after, rounded to six decimals after each step, the latest age first;
--   completion_percent is 100 divided by it. estimated_total is what was billed at the month's age times
--   development_factor, and estimated_unbilled that less billing_cost, which has everything billed so far; below
--   zero, credits are expected. unbilled_low and unbilled_high take the least and the greatest growth of a single
--   month at each step. history_months is the fewest months behind a step; like the factors it is empty where no
--   growth is multiplied. basis is "complete" (age is complete_after or more: the total is billing_cost), "chain
--   ladder", or why there is no estimate: "not enough history" (a step has fewer than min_months), "nothing billed
--   yet" (nothing above zero at its age), "month has not ended". Dates choose the lines
--   of the months that are shown; growth is taken from all months of the lines that pass the other filters.
-- order: currency; ship_month; tenant; carrier
-- cannot say: it is an estimate from experience: a change of volume in a month that was not billed at all is
--   invisible. Let the date filters mean the ship date; with --by invoice-date earlier months look more complete than
--   they are.
-- units: billed_by_0 money, billed_by_1 money, billed_by_2 money, billed_by_3 money, billed_by_4 money, billed_by_5
--   money, billed_by_6 money, billing_cost money, completion_percent %, estimated_total money, estimated_unbilled
--   money, unbilled_low money, unbilled_high money
-- detail: billed_by_4, billed_by_5, billed_by_6, development_factor, history_months
-- chart: bar key=ship_month value=estimated_unbilled combine=sum
-- drilldown: shipments by ship_month, tenant, carrier, currency_code; billing_cost
-- example: On 31 May, January to March have grown from 60, 100 and 40 by the end of their own month to 100, 160 and 60
--   a month later: (100 + 160 + 60) / (60 + 100 + 40) is 1.6; nothing is expected after one month. April has 90, all
--   that is billed by then. May has ended today with 50: 50 times 1.6 is 80, so 30 are still to come; the least growth
--   was 60 / 40 = 1.5 and the greatest 100 / 60 = 1.666667, so between 25 and 33.3334.
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
--   2026-05 | 0 | 50.0000 | chain ladder | 80.0000 | 30.0000 | 25.0000 | 33.3334
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
    as_millionths(factor) as development_factor,
    case
        when basis = 'complete' then as_hundredths(10000)
        else as_hundredths(rounded_quotient(10000000000, factor))
    end as completion_percent,
    estimated_total,
    estimated_total - billed_cost as estimated_unbilled,
    estimated_low - billed_cost as unbilled_low,
    estimated_high - billed_cost as unbilled_high
from accrual_estimates($complete_after, $min_months)
order by currency_code, start, tenant, carrier
