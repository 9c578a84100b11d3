-- title: Which lines are those?
-- purpose: Audit, 1
-- grain: line
-- source: rates, weights
-- params: $rows text: JSON, invoice_id and row_number of each
-- means: all that a claim keeps of its line.
-- order: invoice_id; row_number
-- cannot say: whether the line is wrong.
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
semi join (
    select unnest(from_json($rows, '[{"invoice_id": "VARCHAR", "row_number": "BIGINT"}]'), recursive := true)
) as w on w.invoice_id = s.invoice_id and w.row_number = s.row_number
order by s.invoice_id, s.row_number
