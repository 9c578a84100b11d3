-- All shipments that pass the filters and the conditions, in their order, for a file.
select {{columns}}
from selected_shipments as s
where {{conditions}} and {{behind}}
order by s.{{sorted_by}} {{direction}} nulls last, s.invoice_id, s.row_number
limit $limit
