-- name: lines
-- purpose: Audit, 1
-- source: rates, weights
-- params: $rows text: JSON, invoice_id and row_number of each
-- means: all that a claim keeps of its line.
select
    coalesce(s.invoice_level, 'unknown') as invoice_level,
    s.invoice_id,
    s.invoice_number,
    s.row_number,
    s.tenant,
    s.carrier,
    s.tracking_number,
    s.currency_code,
    s.ship_date,
    s.carrier_invoice_date,
    s.invoice_generation_date as invoice_date,
    s.billing_cost
from base_shipments as s
semi join given_rows(
    $rows, '[{"invoice_id": "VARCHAR", "row_number": "BIGINT"}]'
) as w on w.invoice_id = s.invoice_id and w.row_number = s.row_number
order by s.invoice_id, s.row_number

-- name: shipments
-- purpose: Audit, 1
-- source: rates, weights
-- params: $rows text: JSON, tracking_number of each
-- means: every charge of the numbers that a person named, wholly.
select s.tracking_number, s.currency_code, s.invoice_id, s.row_number, s.billing_cost as claimed
from selected_shipments as s
semi join given_rows(
    $rows, '[{"tracking_number": "VARCHAR"}]'
) as w on w.tracking_number = s.tracking_number
where s.billing_cost > 0
order by s.currency_code, s.tracking_number, s.invoice_id, s.row_number

-- name: duplicates
-- purpose: Audit, 1
-- source: rates, weights
-- params: $rows text: JSON, carrier, tracking_number and currency_code of each row of "duplicates"
--   $limit integer = 100000: list at most this many lines of each currency, largest amounts first
--   $minimum decimal = 0: leave out lines with less to claim
-- means: as "duplicates" reads them, whatever the filters: each credit cancels one charge of exactly its amount; of the
--   charges that remain and are the same charge the largest (of equal ones the first invoiced) is the right one, and the
--   others are claimed, less the credits that cancelled nothing. What is claimed of a number is its money_at_risk.
with lines as (
    select s.*
    from loaded_shipments as s
    semi join given_rows(
        $rows, '[{"carrier": "VARCHAR", "tracking_number": "VARCHAR", "currency_code": "VARCHAR"}]'
    ) as w
        on w.carrier = s.carrier and w.tracking_number = s.tracking_number and w.currency_code = s.currency_code
    where s.billing_cost <> 0
),
ranked as (
    select
        *,
        row_number() over (
            partition by carrier, tracking_number, currency_code, billing_cost > 0, charge
            order by billing_cost desc, invoice_generation_date, invoice_id, row_number
        ) as rank
    from paired_lines('lines')
    where is_unpaired
),
placed as (
    select
        *,
        coalesce(sum(-billing_cost) filter (where billing_cost < 0) over number, 0) as credited,
        sum(billing_cost) filter (where rank > 1 and billing_cost > 0) over (
            number order by billing_cost desc, invoice_generation_date, invoice_id, row_number
        ) as up_to
    from ranked
    window number as (partition by carrier, tracking_number, currency_code)
)
select
    carrier,
    tracking_number,
    currency_code,
    invoice_id,
    row_number,
    cast(greatest(0, least(billing_cost, up_to - credited)) as decimal(18, 4)) as claimed
from placed
where rank > 1 and billing_cost > 0
qualify row_number() over (
    partition by currency_code order by claimed desc, invoice_id, row_number
) <= $limit and claimed >= $minimum
order by currency_code, claimed desc, invoice_id, row_number

-- name: price-changes
-- purpose: Audit, 1
-- source: weights
-- params: $rows text: JSON, month, carrier, service_level, currency_code and zone (null: all) of each row of "price-changes"
--   $min_shipments integer = 3: a price counts in a month only if it has at least this many lines
--   $min_cells integer = 3: with fewer prices compared, a change is not called general
--   $numbers text: JSON, the only tracking numbers wanted; all without it
--   $limit integer = 100000: list at most this many lines of each currency, largest amounts first
--   $minimum decimal = 0: leave out lines with less to claim
-- means: the line is compared with the price that its zone and rated weight had in the last month before that had enough
--   lines, as "price-changes" finds it, whatever the filters but the tenant; what is above is claimed, up to the price of its own month: a line far above both is
--   an outlier besides.
select
    month_of(c.start) as month,
    s.carrier,
    s.service_level,
    s.currency_code,
    s.invoice_id,
    s.row_number,
    cast(half_amount(least(2 * ten_thousandths(s.billing_cost), c.twice_median) - c.before) as decimal(18, 4)) as claimed
from selected_shipments as s
join price_steps($min_shipments) as c
    on c.start = month_start(s.report_date) and c.carrier = s.carrier and c.service_level = s.service_level
    and c.zone = s.zone and c.rated = s.rated and c.currency_code = s.currency_code
semi join given_rows(
    $rows, '[{"month": "VARCHAR", "carrier": "VARCHAR", "service_level": "VARCHAR", "currency_code": "VARCHAR", "zone": "VARCHAR"}]'
) as w
    on w.month = month_of(c.start) and w.carrier = s.carrier and w.service_level = s.service_level
    and w.currency_code = s.currency_code and (w.zone is null or w.zone = s.zone)
where c.twice_median > c.before and 2 * ten_thousandths(s.billing_cost) > c.before and $min_cells is not null
and ($numbers is null or s.tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]'))))
qualify row_number() over (
    partition by s.currency_code order by claimed desc, s.invoice_id, s.row_number
) <= $limit and claimed >= $minimum
order by s.currency_code, claimed desc, s.invoice_id, s.row_number

-- name: rate-variance
-- purpose: Audit, 1
-- source: rates
-- params: $rows text: JSON, carrier, service_level and currency_code of each row of "rate-variance"
--   $numbers text: JSON, the only tracking numbers wanted; all without it
--   $limit integer = 100000: list at most this many lines of each currency, largest amounts first
--   $minimum decimal = 0: leave out lines with less to claim
-- means: as "rate-variance" compares each line with the rate that fits it; what is claimed of a row is its
--   overcharged_cost.
select
    s.carrier,
    s.service_level,
    s.currency_code,
    s.invoice_id,
    s.row_number,
    cast(s.billing_cost - c.rate as decimal(18, 4)) as claimed
from selected_shipments as s
join rated_cells as c
    on c.carrier = s.carrier and c.service_level is not distinct from s.service_level and c.zone is not distinct from s.zone
    and c.currency_code = s.currency_code and c.billing_cost = s.billing_cost and c.day is not distinct from rate_day(s.report_date)
    and c.exact is not distinct from exact_weight(s.billable_weight, s.billable_weight_unit)
semi join given_rows(
    $rows, '[{"carrier": "VARCHAR", "service_level": "VARCHAR", "currency_code": "VARCHAR"}]'
) as w
    on w.carrier = s.carrier and w.service_level is not distinct from s.service_level
    and w.currency_code = s.currency_code
where s.billing_cost > c.rate
and ($numbers is null or s.tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]'))))
qualify row_number() over (
    partition by s.currency_code order by claimed desc, s.invoice_id, s.row_number
) <= $limit and claimed >= $minimum
order by s.currency_code, claimed desc, s.invoice_id, s.row_number

-- name: rebills
-- purpose: Audit, 1
-- source: rates, weights
-- params: $rows text: JSON, invoice_id, replacement_id and currency_code of each row of "rebills"
--   $numbers text: JSON, the only tracking numbers wanted; all without it
--   $limit integer = 100000: list at most this many lines of each currency, largest amounts first
--   $minimum decimal = 0: leave out lines with less to claim
-- means: a number that both invoices have is claimed by what it costs more on the replacement than on the voided one, taken
--   off its largest lines first.
with pairs as (
    from given_rows($rows, '[{"invoice_id": "VARCHAR", "replacement_id": "VARCHAR", "currency_code": "VARCHAR"}]')
),
before as (
    select p.invoice_id, p.replacement_id, v.carrier, v.tracking_number, v.currency_code, sum(v.billing_cost) as cost
    from voided_shipments as v
    join pairs as p on p.invoice_id = v.invoice_id and p.currency_code = v.currency_code
    group by all
),
lines as (
    select
        b.invoice_id as voided_id,
        b.cost as cost_before,
        s.*,
        sum(s.billing_cost) over number as cost_after,
        sum(greatest(s.billing_cost, 0)) over (number order by s.billing_cost desc, s.row_number) as up_to
    from base_shipments as s
    join before as b
        on b.replacement_id = s.invoice_id and b.carrier = s.carrier and b.tracking_number = s.tracking_number
        and b.currency_code = s.currency_code
    window number as (partition by b.invoice_id, s.invoice_id, s.carrier, s.tracking_number, s.currency_code)
)
select
    voided_id as invoice_id_voided,
    currency_code,
    tracking_number,
    invoice_id,
    row_number,
    cast(least(billing_cost, cost_after - cost_before - up_to + billing_cost) as decimal(18, 4)) as claimed
from lines
where billing_cost > 0 and cost_before >= 0 and cost_after - cost_before > up_to - billing_cost
and ($numbers is null or tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]'))))
qualify row_number() over (
    partition by currency_code order by claimed desc, invoice_id, row_number
) <= $limit and claimed >= $minimum
order by currency_code, claimed desc, invoice_id, row_number

-- name: amounts
-- Amounts of all partners count; $numbers is a JSON list.
select
    partner_id,
    coalesce(invoice_level, 'unknown') as invoice_level,
    carrier,
    tracking_number,
    currency_code,
    billing_cost < 0 as is_credit,
    cast(abs(billing_cost) as decimal(18, 4)) as amount,
    invoice_id,
    invoice_number,
    row_number,
    invoice_generation_date as invoice_date
from shipments
where billing_cost <> 0
and tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]')))
order by loaded_at, invoice_id, row_number

-- name: billed
select
    i.invoice_id,
    i.voided_at,
    i.partner_id,
    coalesce(i.invoice_level, 'unknown') as invoice_level,
    s.carrier,
    s.tracking_number,
    s.currency_code,
    s.billing_cost
from invoices as i
left join shipments as s
    on s.invoice_id = i.invoice_id and s.tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]')))
where cast(i.invoice_id as varchar) in (select unnest(from_json($invoices, '["VARCHAR"]')))
