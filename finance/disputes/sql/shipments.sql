-- title: Which lines have these tracking numbers?
-- purpose: Audit, 1
-- grain: line
-- source: rates, weights
-- params: $rows text: JSON, tracking_number of each
-- means: every charge of the numbers that a person named, wholly.
-- order: currency; tracking_number; invoice_id; row_number
-- cannot say: whether a line is wrong.
select s.tracking_number, s.currency_code, s.invoice_id, s.row_number, s.billing_cost as claimed
from selected_shipments as s
semi join (
    select unnest(from_json($rows, '[{"tracking_number": "VARCHAR"}]'), recursive := true)
) as w on w.tracking_number = s.tracking_number
where s.billing_cost > 0
order by s.currency_code, s.tracking_number, s.invoice_id, s.row_number
