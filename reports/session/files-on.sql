-- Which file of each invoice counted at an instant: none of one that was void then.
create or replace temp macro files_on(instant) as table
    select c.invoice_id, c.load_id, l.file_sha256
    from current_loads_as_known_on(instant) as c
    join loads as l on l.load_id = c.load_id
    join invoice_state as i on i.invoice_id = c.invoice_id
    -- A column, since the instant may be a subquery, which no lambda takes.
    cross join (select utc_of(instant) as instant) as k
    where void_since(i.voided_at, i.past_voids, k.instant) is null
