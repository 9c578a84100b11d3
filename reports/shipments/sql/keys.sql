-- Which shipments stand on a page of those that pass the filters and the conditions. Of all rows only what they are sorted
-- by is read. A page begins behind the last row of the one before, so that the thousandth is as quick as the first.
select cast(s.invoice_id as varchar) as invoice_id, s.row_number, cast(s.{{sorted_by}} as varchar) as sorted_by
from selected_shipments as s
where {{conditions}}
and (
    $after_invoice is null
    or s.{{sorted_by}} {{beyond}} try_cast($after_value as {{type}})
    or (s.{{sorted_by}} is null and $after_value is not null)
    or (
        s.{{sorted_by}} is not distinct from try_cast($after_value as {{type}})
        and (
            s.invoice_id > try_cast($after_invoice as uuid)
            or (s.invoice_id = try_cast($after_invoice as uuid) and s.row_number > try_cast($after_row as bigint))
        )
    )
)
order by s.{{sorted_by}} {{direction}} nulls last, s.invoice_id, s.row_number
limit $limit
