-- Invoices that wait for a person for something that may have passed: tried again once a day, who waits longest first. Of
-- one that only a refused delivery told of the service is asked at the next run: nobody else looks after it.
select invoice_id::varchar as invoice_id, partner_id
from (
    select
        i.invoice_id, coalesce(i.partner_id, $partner_id::varchar) as partner_id, i.state_since as since, a.asked_at, i.reason_code,
        floor(epoch($until::timestamp - i.state_since) / 86400)::bigint as days
    from invoice_state as i
    left join ask_log as a on a.invoice_id = i.invoice_id
    where i.state = 'needs_attention'
        and not list_contains(from_json($never::json, '["VARCHAR"]'), coalesce(i.reason_code, ''))
)
where partner_id is not null
    and (
        (days >= 1 and since + to_seconds(days * 86400) > coalesce(asked_at, since))
        or (reason_code = 'delivery-refused' and since > coalesce(asked_at, '-infinity'))
    )
order by coalesce(asked_at, since), invoice_id
limit $limit::bigint
