-- As the single file's statement of this name.
select invoice_id::text as invoice_id, partner_id
from (
    select
        i.invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id, i.state_since as since, a.checked_at, i.reason_code,
        floor(extract(epoch from $until::timestamp - i.state_since) / 86400)::integer as days
    from invoice_state as i
    left join service_checks as a on a.invoice_id = i.invoice_id
    where i.state = 'needs_attention' and not $never::jsonb ? coalesce(i.reason_code, '')
) as parked
where partner_id is not null
    and (
        (days >= 1 and since + make_interval(days => days) > coalesce(checked_at, since))
        or (reason_code = 'delivery-refused' and since > coalesce(checked_at, '-infinity'))
    )
order by coalesce(checked_at, since), invoice_id
limit $limit::bigint
