-- Whether the publication noted what each load bills by month: all the rows of every one that counts. A lake notes nothing.
select not exists (
    select 1
    from invoice_state as i
    join loads as l on l.load_id = i.current_load_id
    left join (select load_id, sum(shipments) as shipments from billed_months group by load_id) as m
        on m.load_id = l.load_id
    where i.voided_at is null and l.shipments <> coalesce(m.shipments, 0)
) as are_noted
