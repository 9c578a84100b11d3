-- Whether the publication looked at the tracking numbers of all loads and has copies of the rows that repeat one. A lake has
-- none, nor has a file in which many do.
select
    (select count(*) from repeated_copies) = (select count(*) from repeated_rows)
    and not exists (
        select 1
        from loads as l
        join invoice_state as i on i.invoice_id = l.invoice_id
        anti join package_loads as p
            on p.load_id = l.load_id and p.is_partner = (i.invoice_level is not distinct from 'partner')
    ) as are_noted
