-- title: Which invoices should have come and did not?
-- grain: gap
-- params: $min_invoices integer = 3: fewer invoices teach no cadence
-- means: nothing can list what was never announced, so each tenant's habit is learned. The usual step is the median
--   distance between starts of billing periods; a period gap is a distance of at least one and a half steps. overdue:
--   the next period has ended, and as many days as its invoice usually takes (ninth decile, and two more) have passed.
--   Numbers are read as a prefix and a counter; a number gap is a counter skipped where at least four of five steps
--   were by one, in a tenant's own numbers or, failing that, in everybody's. Levels are learned apart, whatever the level filter says.
-- cannot say: that an invoice exists. A tenant may have shipped nothing, or a number may never have been given out.
-- units: usual_step days
-- detail: invoice_level, usual_step
with known as (
    select
        i.invoice_id,
        i.invoice_level,
        coalesce(i.tenant_id, i.tenant, 'partner') as party,
        coalesce(i.tenant, n.tenant, i.partner_tenant_id, 'partner') as tenant,
        i.invoice_number,
        i.invoice_start_date,
        i.invoice_end_date,
        i.invoice_date,
        regexp_extract(i.invoice_number, '^(.*?)([0-9]+)$', 1) as prefix,
        try_cast(nullif(regexp_extract(i.invoice_number, '^(.*?)([0-9]{1,15})$', 2), '') as bigint) as counter,
        length(regexp_extract(i.invoice_number, '^(.*?)([0-9]+)$', 2)) as digits
    from invoices as i
    left join (
        select tenant_id, arg_max(tenant, loaded_at) as tenant
        from invoices
        where tenant_id is not null and tenant is not null
        group by tenant_id
    ) as n on n.tenant_id = i.tenant_id
),
parties as (
    select invoice_level, party, max(tenant) as tenant from known group by all
),
-- One row per billing period: several invoices of one period (two currencies, a re-bill) are one beat of the cadence.
periods as (
    select
        invoice_level,
        party,
        invoice_start_date as period_start,
        max(invoice_end_date) as period_end,
        max(invoice_date - invoice_end_date) as delay,
        arg_max(invoice_number, invoice_date) as invoice_number
    from known
    where invoice_start_date is not null and invoice_end_date is not null
    group by all
),
steps as (
    select
        *,
        lead(period_start) over w as next_start,
        lead(invoice_number) over w as next_number,
        lead(period_start) over w - period_start as step
    from periods
    window w as (partition by invoice_level, party order by period_start)
),
cadences as (
    select
        invoice_level,
        party,
        quantile_disc(step, 0.5) as usual_step,
        greatest(quantile_disc(delay, 0.9), 0) as usual_delay,
        count(*) as periods
    from steps
    group by all
    having count(*) >= $min_invoices
),
period_gaps as (
    select
        'period' as kind,
        s.invoice_level,
        s.party,
        least(s.period_end, s.next_start) as expected_from,
        s.next_start as expected_to,
        greatest((2 * s.step + c.usual_step) // (2 * c.usual_step) - 1, 1) as missing,
        s.invoice_number as after_invoice,
        s.next_number as before_invoice,
        c.usual_step
    from steps as s
    join cadences as c on c.invoice_level = s.invoice_level and c.party = s.party
    where c.usual_step > 0 and 2 * s.step >= 3 * c.usual_step
),
overdue as (
    select
        'overdue' as kind,
        s.invoice_level,
        s.party,
        s.period_start + cast(c.usual_step as integer) as expected_from,
        s.period_start + cast(2 * c.usual_step as integer) as expected_to,
        (cast(p.published_at as date) - s.period_start - c.usual_delay - 2) // c.usual_step - 1 as missing,
        s.invoice_number as after_invoice,
        null as before_invoice,
        c.usual_step
    from steps as s
    join cadences as c on c.invoice_level = s.invoice_level and c.party = s.party
    cross join (select max(published_at) as published_at from publication) as p
    where s.next_start is null and c.usual_step > 0
    and cast(p.published_at as date) >= s.period_start + cast(2 * c.usual_step + c.usual_delay + 2 as integer)
),
own_numbers as (
    select
        invoice_level,
        party,
        prefix,
        digits,
        counter,
        invoice_number,
        invoice_start_date,
        lead(counter) over w - counter as step,
        lead(counter) over w as next_counter,
        lead(invoice_number) over w as next_number,
        lead(invoice_start_date) over w as next_start
    from known
    where counter is not null
    window w as (partition by invoice_level, party, prefix order by counter, invoice_id)
),
own_series as (
    select invoice_level, party, prefix
    from own_numbers
    where step > 0
    group by all
    having count(*) + 1 >= $min_invoices and count(*) filter (where step = 1) * 5 >= count(*) * 4
),
-- Numbers that make no series of a tenant's own may make one of everybody's.
shared_numbers as (
    select
        k.prefix,
        k.digits,
        k.counter,
        k.invoice_number,
        k.invoice_start_date,
        lead(k.counter) over w - k.counter as step,
        lead(k.counter) over w as next_counter,
        lead(k.invoice_number) over w as next_number,
        lead(k.invoice_start_date) over w as next_start
    from known as k
    where k.counter is not null
    and not exists (
        select 1 from own_series as o
        where o.invoice_level = k.invoice_level and o.party = k.party and o.prefix = k.prefix
    )
    window w as (partition by k.prefix order by k.counter, k.invoice_id)
),
shared_series as (
    select prefix
    from shared_numbers
    where step > 0
    group by all
    having count(*) + 1 >= $min_invoices and count(*) filter (where step = 1) * 5 >= count(*) * 4
),
number_gaps as (
    select
        'number' as kind,
        n.invoice_level,
        n.party,
        n.invoice_start_date as expected_from,
        n.next_start as expected_to,
        n.step - 1 as missing,
        n.invoice_number as after_invoice,
        n.next_number as before_invoice,
        null as usual_step
    from own_numbers as n
    join own_series as s on s.invoice_level = n.invoice_level and s.party = n.party and s.prefix = n.prefix
    where n.step > 1
    union all
    select
        'number', null, null, n.invoice_start_date, n.next_start, n.step - 1, n.invoice_number, n.next_number, null
    from shared_numbers as n
    join shared_series as s on s.prefix = n.prefix
    where n.step > 1
),
gaps as (
    select * from period_gaps
    union all
    select * from overdue
    union all
    select * from number_gaps
)
select
    g.kind,
    p.tenant,
    g.invoice_level,
    g.expected_from,
    g.expected_to,
    cast(g.missing as bigint) as missing,
    g.after_invoice,
    g.before_invoice,
    cast(g.usual_step as bigint) as usual_step,
    case g.kind
        when 'period'
            then p.tenant || ' is invoiced every ' || g.usual_step || ' days, and nothing covers ' || g.expected_from
                || ' to ' || g.expected_to
        when 'overdue'
            then p.tenant || ' is invoiced every ' || g.usual_step || ' days, and nothing came since ' || g.after_invoice
        else g.missing || case when g.missing = 1 then ' number is' else ' numbers are' end || ' missing between '
            || g.after_invoice || ' and ' || g.before_invoice
    end as finding
from gaps as g
left join parties as p on p.invoice_level = g.invoice_level and p.party = g.party
where (getvariable('tenants') is null or list_contains(cast(getvariable('tenants') as varchar[]), p.tenant))
and (getvariable('date_from') is null or g.expected_to > cast(getvariable('date_from') as date))
and (getvariable('date_to') is null or g.expected_from < cast(getvariable('date_to') as date))
order by p.tenant nulls last, g.invoice_level, g.expected_from, g.kind, g.after_invoice
