-- Of the rows that were looked at, those whose number stands on another row of the same level. Another version of the same
-- invoice is none, since only one of them is ever counted. Sorting marks finds the few that repeat at all (see
-- reports/session/repeated-lines.sql).
insert into repeated_rows
with sorted as (
    select mark, lag(mark) over (order by mark) as mark_before from looked_at
),
suspects as (
    select r.load_id, r.row_number, r.mark, l.invoice_id, i.invoice_level is not distinct from 'partner' as is_partner
    from looked_at as r
    join loads as l on l.load_id = r.load_id
    join invoice_state as i on i.invoice_id = l.invoice_id
    where r.mark in (select mark from sorted where mark = mark_before)
),
counted as (
    select
        load_id,
        row_number,
        count(*) over (partition by is_partner, mark) as rows,
        count(*) over (partition by is_partner, mark, invoice_id) as rows_of_invoice,
        count(*) over (partition by is_partner, mark, invoice_id, load_id) as rows_of_load
    from suspects
)
select c.load_id, c.row_number
from counted as c
anti join repeated_rows as n on n.load_id = c.load_id and n.row_number = c.row_number
where c.rows > c.rows_of_invoice or c.rows_of_load > 1
