-- title: Who said what of one invoice besides its events, in order of time: the service's details, billsync, persons
-- grain: statement
select recorded_at as at, 'the service' as who, 'details: ' || coalesce(invoice_status, 'no status that we know') as what,
    stated_total as detail
from details_ledger
where invoice_id::varchar = $invoice
union all
select recorded_at, coalesce(told_by, 'billsync'),
    case when kind = 'restored' then 'void undone' when kind = 'version' then 'older file counts'
        when kind = 'failure' and is_open then 'fails: ' || code when kind = 'failure' then 'goes well again'
        when is_open then 'needs attention: ' || code else 'attention resolved' end,
    reason
from attention_ledger
where invoice_id::varchar = $invoice
order by "at", what
