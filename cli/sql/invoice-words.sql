-- title: Who said what of one invoice besides its events, in order of time: the service's details, billsync, persons
-- grain: statement
select recorded_at as at, 'the service' as who, 'details: ' || coalesce(invoice_status, 'no status that we know') as what,
    stated_total as detail
from details_ledger
where invoice_id::varchar = $invoice
union all
select a.recorded_at, case when kind = 'hash' then 'the service' else coalesce(a.decided_by, 'billsync') end,
    case when kind = 'hash' then 'hash of its file' when kind = 'restored' then 'void undone' when kind = 'version' then coalesce('version ' || l.version || ' counts', 'another file counts')
        when kind = 'failure' and is_open then 'fails: ' || code when kind = 'failure' then 'goes well again'
        when is_open then 'needs attention: ' || code else 'attention resolved' end,
    case when kind = 'hash' then a.file_sha256 else reason end
from attention_ledger as a
left join loads as l on a.kind = 'version' and l.invoice_id = a.invoice_id and l.file_sha256 = a.file_sha256
where a.invoice_id::varchar = $invoice
order by "at", what
