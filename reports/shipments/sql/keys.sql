-- Which shipments stand on a page of those that pass the filters and the conditions. Of all rows only what they are sorted
-- by is read, and only of those on the page is anything made text. A page begins behind the last row of the one before, so
-- that the thousandth is as quick as the first.
select cast(invoice_id as varchar) as invoice_id, row_number, cast(sorted_by as varchar) as sorted_by
from (
    select s.invoice_id, s.row_number, s.{{sorted_by}} as sorted_by
    from selected_shipments as s
    where {{conditions}} and {{behind}}
    order by s.{{sorted_by}} {{direction}} nulls last, s.invoice_id, s.row_number
    limit $limit
)
