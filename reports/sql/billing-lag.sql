-- title: Days from shipping to invoice
-- purpose: Health, 6
-- grain: carrier, currency
-- means: Days from the ship date to the carrier's invoice, from there to our invoice, and from the ship date to our
--   invoice. A median is the mean of the two middle values; at least nine tenths of the lines took no longer than a
--   ninth decile. Lines without a carrier invoice date count only in the last. `before_shipping` counts lines with an
--   invoice date before the ship date.
-- order: currency; most lines first; carrier
-- limits: The cause of a delay is not known. Shipments that are not billed yet are missing (see `accrual`).
-- units: ship_to_carrier_median days, ship_to_carrier_ninth_decile days, carrier_to_invoice_median days,
--   carrier_to_invoice_ninth_decile days, ship_to_invoice_median days, ship_to_invoice_ninth_decile days,
--   ship_to_invoice_longest days
-- chart: bar key=carrier value=ship_to_invoice_median
-- drilldown: shipments by carrier, currency_code; shipments
-- example: Two lines were shipped on 1 March. The carrier billed one after 3 days; for the other no date is known. Our
--   invoices are of 11 and 14 March, after 10 and 13 days: a median of 11.5.
--   lines: ship_date | carrier_invoice_date | invoice_generation_date
--   2026-03-01 | 2026-03-04 | 2026-03-11
--   2026-03-01 | | 2026-03-14
--   rows: shipments | with_carrier_invoice_date | ship_to_carrier_median | carrier_to_invoice_median | ship_to_invoice_median
--   2 | 1 | 3.0 | 7.0 | 11.5
with
waits as (
    select
        carrier,
        currency_code,
        carrier_invoice_date - ship_date as to_carrier,
        invoice_generation_date - ship_date as to_invoice,
        count(*) as shipments
    from selected_shipments
    group by all
),
laps as (
    select carrier, currency_code, 'ship to carrier' as lap, to_carrier as days, shipments from waits
    union all
    select carrier, currency_code, 'carrier to invoice', to_invoice - to_carrier, shipments from waits
    union all
    select carrier, currency_code, 'ship to invoice', to_invoice, shipments from waits
),
-- Of n lines in all, up_to waited at most this long: a decile is the first day that reaches its part.
ranked as (
    select
        *,
        sum(shipments) over lap as n,
        sum(shipments) over (lap order by days) as up_to
    from laps
    where days is not null
    window lap as (partition by carrier, currency_code, lap)
),
quantiles as (
    select
        carrier,
        currency_code,
        lap,
        middle_day(min(days) filter (where 2 * up_to >= n), min(days) filter (where 2 * up_to > n)) as median,
        min(days) filter (where 10 * up_to >= 9 * n) as ninth_decile
    from ranked
    group by all
),
carriers as (
    select
        carrier,
        currency_code,
        cast(sum(shipments) as bigint) as shipments,
        cast(coalesce(sum(shipments) filter (where to_carrier is not null), 0) as bigint) as with_carrier_invoice_date,
        max(to_invoice) as longest,
        cast(coalesce(sum(shipments) filter (where least(to_carrier, to_invoice) < 0), 0) as bigint) as before_shipping
    from waits
    group by all
)
select
    c.carrier,
    c.currency_code,
    c.shipments,
    c.with_carrier_invoice_date,
    any_value(q.median) filter (where q.lap = 'ship to carrier') as ship_to_carrier_median,
    any_value(q.ninth_decile) filter (where q.lap = 'ship to carrier') as ship_to_carrier_ninth_decile,
    any_value(q.median) filter (where q.lap = 'carrier to invoice') as carrier_to_invoice_median,
    any_value(q.ninth_decile) filter (where q.lap = 'carrier to invoice') as carrier_to_invoice_ninth_decile,
    any_value(q.median) filter (where q.lap = 'ship to invoice') as ship_to_invoice_median,
    any_value(q.ninth_decile) filter (where q.lap = 'ship to invoice') as ship_to_invoice_ninth_decile,
    c.longest as ship_to_invoice_longest,
    c.before_shipping
from carriers as c
join quantiles as q on q.carrier = c.carrier and q.currency_code = c.currency_code
group by all
order by c.currency_code, c.shipments desc, c.carrier
