-- As the single file's statement of this name.
select invoice_id::text as invoice_id, partner_id
from (
    select
        invoice_id, partner_id, state, since, checked_at, restored_at,
        since + make_interval(secs => (floor(age / period) * period)::double precision) as due_at
    from (
        select *, case when age <= 7 * 86400 then 86400 else 7 * 86400 end as period
        from (
            select
                i.invoice_id, coalesce(i.partner_id, $partner_id::text) as partner_id, i.state_since as since, a.checked_at,
                i.state, i.restored_at,
                extract(epoch from least($until::timestamp, coalesce(
                    case when i.invoice_date ~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])' then
                        to_date(left(i.invoice_date, 10), 'YYYY-MM-DD')::timestamp end,
                    i.state_since) + make_interval(days => $days::integer)) - i.state_since) as age
            from invoice_state as i
            left join service_checks as a on a.invoice_id = i.invoice_id
            where i.state = 'loaded' or (i.restored_at is not null and i.voided_at is null)
        ) as loaded
        where (age >= 86400 or restored_at > coalesce(checked_at, '-infinity')) and partner_id is not null
    ) as aged
) as due
where (state = 'loaded' and due_at > coalesce(checked_at, since)) or restored_at > coalesce(checked_at, '-infinity')
order by coalesce(checked_at, since), invoice_id
limit $limit::bigint
