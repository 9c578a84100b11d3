-- What the archive has to know of: loads, events, and how many lines facts left about an invoice or an event; and the
-- invoices that all these make. What a load that could not be repeated left (archive-damaged) is of no fact. For DuckDB
-- and PostgreSQL alike.
-- Only those whose subject's hash begins as $part says.
select * from (
    select 'load' as kind, load_id::varchar as subject, invoice_id::varchar as invoice_id, file_sha256, 1 as lines,
        load_id in (select current_load_id from invoice_state where voided_at is null) as is_counted
    from loads
    union all
    select 'invoice', invoice_id::varchar, invoice_id::varchar, null, 1, false
    from invoice_state
    union all
    select 'event', lower(event_id), invoice_id::varchar, null, 1, false
    from event_ledger
    union all
    select 'details', invoice_id::varchar, invoice_id::varchar, null, count(*)::integer, false
    from details_ledger
    group by invoice_id
    union all
    select
        case kind when 'restored' then 'restored' when 'version' then 'version-chosen' when 'hash' then 'hash-asked'
            when 'failure' then case when is_open then 'failure' else 'recovered' end
            else case when is_open then 'attention' else 'resolved' end end,
        invoice_id::varchar, invoice_id::varchar, null, count(*)::integer, false
    from attention_ledger
    where code is distinct from 'archive-damaged'
    group by 1, invoice_id
    union all
    select 'file', invoice_id::varchar, invoice_id::varchar, null, count(*)::integer, false
    from file_ledger
    group by invoice_id
    union all
    select 'duplicate', event_id, null, null, count(*)::integer, false
    from duplicate_ledger
    group by event_id
) as r
where md5(subject) like $part::text
