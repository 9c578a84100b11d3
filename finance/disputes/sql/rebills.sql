-- title: Which lines of a replacement cost more than on the voided invoice?
-- purpose: Audit, 1
-- grain: line
-- source: rates, weights
-- params: $rows text: JSON, invoice_id, replacement_id and currency_code of each row of "rebills"
--   $numbers text: JSON, the only tracking numbers wanted; all without it
--   $limit integer = 100000: list at most this many lines, largest amounts first
-- means: a number that both invoices have is claimed by what it costs more on the replacement than on the voided one, taken
--   off its largest lines first.
-- order: currency; claimed, highest first; invoice_id; row_number
-- cannot say: why it was billed again at another price.
with pairs as (
    select unnest(
        from_json($rows, '[{"invoice_id": "VARCHAR", "replacement_id": "VARCHAR", "currency_code": "VARCHAR"}]'),
        recursive := true
    )
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
where billing_cost > 0 and cost_after - cost_before > up_to - billing_cost
and ($numbers is null or tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]'))))
order by currency_code, claimed desc, invoice_id, row_number
limit $limit
