-- Which invoices stand on a page of the list, and how many pass. Every filter is null for "all"; $search finds an invoice by number,
-- id or the partner's own reference. Only what filters and sorts is read here, past the view: of a million invoices whole rows are
-- dear. What needs the name of a tenant or the sums of a file is asked by invoices-found-by-file.sql.
with matching as (
    select
        invoice_id, invoice_number, state_since,
        case when $sort = 'state' then state end as state,
        case when $sort = 'date' then try_cast(left(invoice_date, 10) as date) end as invoice_date
    from invoice_state
    where ($states is null or list_contains(cast($states as varchar[]), state))
    and (
        $search is null
        or (
            regexp_full_match(lower($search), '[0-9a-f-]*')
            and starts_with(lower(cast(invoice_id as varchar)), lower($search))
        )
        or contains(lower(invoice_number), lower($search))
        or contains(lower(coalesce(partner_invoice_id, '')), lower($search))
    )
)
select cast(invoice_id as varchar) as invoice_id, (select count(*) from matching) as found
from matching
order by
    case when $sort = 'number' then invoice_number end,
    state,
    invoice_date desc nulls last,
    state_since desc,
    invoice_number,
    invoice_id
limit $limit offset $offset
