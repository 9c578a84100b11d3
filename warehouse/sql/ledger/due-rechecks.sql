-- Loaded invoices that the service is to be asked about again: daily for a week after the load, then weekly, until so
-- many days after the invoice date. What came due stays due until it was asked; who waits longest comes first.
-- An invoice whose void a person undid is asked about once at the next run: its workflow may wait for just this.
select invoice_id::varchar as invoice_id, partner_id
from (
    select
        invoice_id, partner_id, state, since, asked_at, restored_at,
        since + to_seconds(floor(age / period)::bigint * period) as due_at
    from (
        select *, case when age <= 7 * 86400 then 86400 else 7 * 86400 end as period
        from (
            select
                i.invoice_id, coalesce(i.partner_id, $partner_id::varchar) as partner_id, i.state_since as since, a.asked_at,
                i.state, i.restored_at,
                epoch(least($until::timestamp, coalesce(try_cast(left(i.invoice_date, 10) as timestamp), i.state_since)
                    + to_days($days::integer)) - i.state_since) as age
            from invoice_state as i
            left join ask_log as a on a.invoice_id = i.invoice_id
            where i.state = 'loaded' or (i.restored_at is not null and i.voided_at is null)
        )
        where (age >= 86400 or restored_at > coalesce(asked_at, '-infinity')) and partner_id is not null
    )
)
where (state = 'loaded' and due_at > coalesce(asked_at, since)) or restored_at > coalesce(asked_at, '-infinity')
order by coalesce(asked_at, since), invoice_id
limit $limit::bigint
