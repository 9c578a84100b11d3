-- Lines of what was asked for whose number may stand on another of them. A short mark finds the few; their numbers are compared.
select s.partner_id, s.currency_code, s.carrier, s.tracking_number
from selected_shipments as s
semi join (
    select distinct mark
    from (
        select mark, lag(mark) over (order by mark) as mark_before
        from (select mark_of(s.tracking_number) as mark from selected_shipments as s where {{conditions}})
    )
    where mark = mark_before
) as r on r.mark = mark_of(s.tracking_number)
where {{conditions}}
