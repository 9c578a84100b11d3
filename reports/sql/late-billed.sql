-- title: Late-billed shipments
-- purpose: Audit, 6
-- grain: line
-- params: $days integer = 60: list lines invoiced more than this many days after shipping
--   $limit integer = 100000: list at most this many rows of each partner and currency, the first in the report's order
-- means: Lines whose invoice is dated more than `days` days after the ship date. `days_late` counts the days beyond
--   this limit, `carrier_days` those from shipping to the carrier's own invoice. `first_billed_on` is the earliest
--   invoice date of the tracking number in everything loaded; a date before `invoice_date` means that the line adjusts
--   an earlier charge.
-- order: currency; highest billing_cost first, whatever its sign; tracking_number
-- limits: Whether your contract lets you refuse the charge is not known; many carriers' terms end claims after a number
--   of days.
-- units: days_late days, carrier_days days
-- detail: invoice_id, row_number
-- chart: bar key=carrier value=billing_cost combine=sum
-- drilldown: shipments by invoice_id, row_number, carrier, currency_code; billing_cost
-- example: Shipped on 1 January and invoiced on 10 March, 68 days later: eight days more than 60. The other took 40
--   days.
--   lines: tracking_number | ship_date | carrier_invoice_date | invoice_generation_date | billing_cost
--   A | 2026-01-01 | 2026-03-01 | 2026-03-10 | 12
--   B | 2026-01-29 | 2026-03-01 | 2026-03-10 | 9
--   rows: tracking_number | days_to_invoice | days_late | carrier_days | billing_cost | first_billed_on
--   A | 68 | 8 | 59 | 12.0000 | 2026-03-10
with late as (
    select *
    from selected_shipments
    where invoice_generation_date - ship_date > $days
),
first_billed as (
    select s.carrier, s.tracking_number, min(s.invoice_generation_date) as day
    from loaded_shipments as s
    semi join late as l on l.carrier = s.carrier and l.tracking_number = s.tracking_number
    group by all
)
select
    l.tenant,
    l.invoice_number,
    l.carrier,
    l.tracking_number,
    l.ship_date,
    l.carrier_invoice_date,
    l.invoice_generation_date as invoice_date,
    l.invoice_generation_date - l.ship_date as days_to_invoice,
    l.invoice_generation_date - l.ship_date - $days as days_late,
    l.carrier_invoice_date - l.ship_date as carrier_days,
    l.currency_code,
    l.billing_cost,
    f.day as first_billed_on,
    l.service_level,
    l.invoice_id,
    l.row_number
from late as l
join first_billed as f on f.carrier = l.carrier and f.tracking_number = l.tracking_number
qualify row_number() over (
    partition by l.currency_code order by abs(l.billing_cost) desc, l.tracking_number, l.invoice_id, l.row_number
) <= $limit
order by l.currency_code, abs(l.billing_cost) desc, l.tracking_number, l.invoice_id, l.row_number
