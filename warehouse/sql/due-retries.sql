-- Invoices that wait for a person for something that may have passed: tried again once a day, who waits longest first.
select invoice_id::varchar as invoice_id, partner_id
from (
    select
        i.invoice_id, coalesce(i.partner_id, $partner_id::varchar) as partner_id, i.state_since as since, a.asked_at,
        floor(epoch($until::timestamp - i.state_since) / 86400)::bigint as days
    from invoice_state as i
    left join ask_log as a on a.invoice_id = i.invoice_id
    where i.state = 'needs_attention'
        and not list_contains(from_json($never::json, '["VARCHAR"]'), coalesce(i.reason_code, ''))
)
where days >= 1 and partner_id is not null and since + to_seconds(days * 86400) > coalesce(asked_at, since)
order by coalesce(asked_at, since), invoice_id
limit $limit::bigint
