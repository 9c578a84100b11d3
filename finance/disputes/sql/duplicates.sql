-- title: Which charges of these numbers are beyond the rightful one?
-- purpose: Audit, 1
-- grain: line
-- source: rates, weights
-- params: $rows text: JSON, carrier, tracking_number and currency_code of each row of "duplicates"
--   $limit integer = 100000: list at most this many lines, largest amounts first
-- means: as "duplicates" reads them, whatever the filters: each credit cancels one charge of exactly its amount; of the
--   charges that remain and are the same charge the largest (of equal ones the first invoiced) is the right one, and the
--   others are claimed, less the credits that cancelled nothing. What is claimed of a number is its money_at_risk.
-- order: currency; claimed, highest first; invoice_id; row_number
-- cannot say: whether an adjustment is right.
with lines as (
    select
        s.*,
        row_number() over (
            partition by s.carrier, s.tracking_number, s.currency_code, s.billing_cost order by s.invoice_id, s.row_number
        ) as place
    from loaded_shipments as s
    semi join (
        select unnest(
            from_json($rows, '[{"carrier": "VARCHAR", "tracking_number": "VARCHAR", "currency_code": "VARCHAR"}]'),
            recursive := true
        )
    ) as w
        on w.carrier = s.carrier and w.tracking_number = s.tracking_number and w.currency_code = s.currency_code
    where s.billing_cost <> 0
),
counts as (
    select carrier, tracking_number, currency_code, billing_cost, count(*) as n from lines group by all
),
remaining as (
    select l.*
    from lines as l
    left join counts as o
        on o.carrier = l.carrier and o.tracking_number = l.tracking_number and o.currency_code = l.currency_code
        and o.billing_cost = -l.billing_cost
    where coalesce(l.place > o.n, true)
),
keyed as (
    select
        *,
        first_value(weight_key(billable_weight, billable_weight_unit)) over (
            partition by carrier, tracking_number, currency_code, billing_cost
            order by invoice_generation_date, invoice_id, row_number
        ) as charge_key
    from remaining
),
ranked as (
    select
        *,
        row_number() over (
            partition by carrier, tracking_number, currency_code, billing_cost > 0, charge_key
            order by billing_cost desc, invoice_generation_date, invoice_id, row_number
        ) as rank
    from keyed
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
order by currency_code, claimed desc, invoice_id, row_number
limit $limit
