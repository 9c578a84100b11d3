-- title: Possibly missing invoices
-- purpose: Health, 2
-- grain: gap
-- reads: states
-- params: $min_invoices integer = 3: the number of invoices that a pattern needs
-- means: Invoices that were never announced cannot be listed, so gaps are inferred from the pattern of each tenant.
--   "voided": days of a voided invoice that no other invoice covers. "period": uncovered days between two billing
--   periods that start at least one and a half usual steps apart. "overdue": the next period has ended, and its invoice
--   is more than two days later than usual. "number": invoice numbers missing from a sequence in which at least four of
--   five steps are by one. `expected_from` and `expected_to` are the uncovered days, or the invoice dates beside
--   missing numbers; `missing` counts periods or numbers. Dates, tenant and partner filter the gaps; the other filters
--   have no effect.
-- order: tenant; invoice_level; expected_from; kind; after_invoice
-- limits: A gap need not be a missing invoice: a tenant may have shipped nothing, and a number may never have been
--   used.
-- units: usual_step days
-- detail: invoice_level, usual_step
-- drilldown: invoices by after_invoice as search
-- example: Acme is invoiced by the week. The week from 19 January was voided and not billed again; nothing came for the
--   two weeks from 26 January, and the numbers A-4 and A-5 are missing.
--   invoices: invoice_number | tenant | state | invoice_start_date | invoice_end_date | invoice_date
--   A-1 | Acme | loaded | 2026-01-05 | 2026-01-11 | 2026-01-13
--   A-2 | Acme | loaded | 2026-01-12 | 2026-01-18 | 2026-01-20
--   A-3 | Acme | voided | 2026-01-19 | 2026-01-25 | 2026-01-27
--   A-6 | Acme | loaded | 2026-02-09 | 2026-02-15 | 2026-02-17
--   A-7 | Acme | loaded | 2026-02-16 | 2026-02-22 | 2026-02-24
--   A-8 | Acme | loaded | 2026-02-23 | 2026-03-01 | 2026-03-03
--   A-9 | Acme | loaded | 2026-03-02 | 2026-03-08 | 2026-03-10
--   published: 2026-03-12T00:00:00Z
--   rows: kind | expected_from | expected_to | missing | after_invoice | before_invoice
--   voided | 2026-01-19 | 2026-01-25 | 1 | A-3 |
--   period | 2026-01-26 | 2026-02-08 | 2 | A-3 | A-6
--   number | 2026-01-27 | 2026-02-17 | 2 | A-3 | A-6
with
known as (
    select
        i.invoice_id,
        i.invoice_number,
        i.invoice_level,
        i.tenant_id,
        -- A partner-level invoice belongs to the partner even if its lines name none.
        i.invoice_level || ' '
        || if(i.invoice_level = 'partner', 'partner', coalesce(i.tenant_id, i.tenant, 'partner')) as party,
        coalesce(i.tenant, i.partner_tenant_id, 'partner') as tenant,
        i.state = 'voided' as is_voided,
        i.currency_code,
        i.invoice_start_date,
        i.invoice_end_date,
        i.invoice_date,
        regexp_extract(i.invoice_number, '[0-9]+$') as digits,
        if(
            digits = '',
            null,
            {
                partner: coalesce(i.partner_id, ''),
                prefix: left(i.invoice_number, length(i.invoice_number) - length(digits))
            }
        ) as sequence,
        try_cast(right(digits, 15) as bigint) as counter
    from known_invoices as i
),
parties as (
    select
        party,
        any_value(invoice_level) as invoice_level,
        any_value(tenant_id) as tenant_id,
        max(tenant) as tenant
    from known
    group by party
),
-- Several invoices of one billing period (two currencies, a re-bill) are one period. A voided period counts;
-- its gap is reported as voided.
periods as (
    select
        party,
        invoice_start_date as period_start,
        max(invoice_end_date) as period_end,
        max(invoice_date - invoice_end_date) as delay,
        arg_min(invoice_number, (coalesce(invoice_date, 'infinity'), invoice_number)) as earliest,
        arg_max(invoice_number, (coalesce(invoice_date, '-infinity'), invoice_number)) as latest
    from known
    where invoice_start_date is not null and invoice_end_date is not null
    group by all
),
ordered as (
    select
        *,
        lead(period_start) over w as next_start,
        lead(period_start) over w - period_start as step,
        lead(earliest) over w as next_earliest,
        max(period_end) over w as covered_to
    from periods
    window w as (partition by party order by period_start)
),
-- A period's last day is not its own where the next one usually begins on it.
cadences as (
    select
        party,
        case when count(*) filter (where next_start = period_end) > count(*) filter (where next_start = period_end + 1)
            then 0 else 1 end as after_end,
        quantile_disc(step, 0.5) as usual_step,
        greatest(quantile_disc(delay, 0.9), 0) as usual_delay
    from ordered
    group by all
    having count(*) >= $min_invoices
),
steps as (
    select o.*, o.covered_to + c.after_end as open_from, c.usual_step, c.usual_delay
    from ordered as o
    join cadences as c on c.party = o.party
    where c.usual_step > 0 and (o.next_start is null or 2 * o.step >= 3 * c.usual_step)
),
late as (
    select
        s.*,
        (cast(p.published_at as date) - s.period_start - s.usual_delay - 2) // s.usual_step - 1 as missing
    from steps as s
    cross join (select max(published_at) as published_at from publication) as p
    where s.next_start is null
    and cast(p.published_at as date) >= s.period_start + cast(2 * s.usual_step + s.usual_delay + 2 as integer)
),
period_gaps as (
    select
        'period' as kind,
        party,
        open_from as expected_from,
        next_start - 1 as expected_to,
        greatest((2 * step + usual_step) // (2 * usual_step) - 1, 1) as missing,
        latest as after_invoice,
        next_earliest as before_invoice,
        usual_step
    from steps
    where next_start is not null and open_from < next_start
    union all
    select
        'overdue', party, open_from, open_from + cast(missing * usual_step as integer) - 1, missing, latest, null, usual_step
    from late
),
-- The first and the last uncovered day are among the days beside the periods of others, however long a period is.
edges as (
    select party, unnest([invoice_start_date - 1, invoice_end_date + 1]) as day
    from known
    where not is_voided and invoice_start_date <= invoice_end_date
),
open_days as (
    select *, unnest([invoice_start_date, invoice_end_date]) as day
    from known
    where is_voided and invoice_start_date <= invoice_end_date
    union
    select v.*, e.day
    from known as v
    join edges as e on e.party = v.party and e.day between v.invoice_start_date and v.invoice_end_date
    where v.is_voided
),
voided_periods as (
    select
        'voided' as kind,
        o.party,
        cast(min(o.day) as date) as expected_from,
        cast(max(o.day) as date) as expected_to,
        1 as missing,
        any_value(o.invoice_number) as after_invoice,
        null as before_invoice,
        null as usual_step
    from open_days as o
    where not exists (
        select 1
        from known as k
        where not k.is_voided and k.party = o.party
        and k.currency_code is not distinct from o.currency_code
        and o.day between k.invoice_start_date and k.invoice_end_date
    )
    -- Where periods end on the day the next begins, that day is the next one's.
    group by o.invoice_id, o.party
    having not (count(*) = 1 and min(o.day) = any_value(o.invoice_end_date) and any_value(o.invoice_start_date) <> any_value(o.invoice_end_date))
),
numbered as (
    select distinct sequence, party, counter from known where counter is not null
),
-- Numbers form a sequence for each tenant, or for all tenants of a partner together.
prefixes as (
    select
        o.sequence,
        p.counters < o.counters
        or (o.most >= $min_invoices and o.missing_of_tenants <= p.missing_of_partner) as is_of_tenants
    from (
        select
            sequence,
            sum(span - counters) as missing_of_tenants,
            sum(counters) as counters,
            max(counters) as most
        from (
            select sequence, party, max(counter) - min(counter) + 1 as span, count(*) as counters from numbered group by all
        )
        group by all
    ) as o
    join (
        select
            sequence,
            max(counter) - min(counter) + 1 - count(distinct counter) as missing_of_partner,
            count(distinct counter) as counters
        from numbered
        group by all
    ) as p on p.sequence = o.sequence
),
number_steps as (
    select
        *,
        lead(counter) over later - counter as step,
        lead(invoice_number) over later as before_invoice,
        lead(dated) over later as before_dated
    from (
        select
            k.sequence,
            if(p.is_of_tenants, k.party, null) as party,
            k.counter,
            min(k.invoice_number) as invoice_number,
            min(k.invoice_date) as dated
        from known as k
        join prefixes as p on p.sequence = k.sequence
        where k.counter is not null
        group by all
    )
    window later as (partition by sequence, party order by counter)
),
series as (
    select sequence, party
    from number_steps
    where step is not null
    group by all
    having count(*) + 1 >= $min_invoices and count(*) filter (where step = 1) * 5 >= count(*) * 4
),
-- Invoice numbers need not be in order of time.
number_gaps as (
    select
        'number' as kind,
        n.party,
        least(n.dated, n.before_dated) as expected_from,
        greatest(n.dated, n.before_dated) as expected_to,
        n.step - 1 as missing,
        n.invoice_number as after_invoice,
        n.before_invoice,
        null as usual_step
    from number_steps as n
    join series as s on s.sequence = n.sequence and s.party is not distinct from n.party
    where n.step > 1
),
gaps as (
    select * from voided_periods
    union all
    select * from period_gaps
    union all
    select * from number_gaps
)
select
    g.kind,
    p.tenant,
    p.invoice_level,
    g.expected_from,
    g.expected_to,
    cast(g.missing as bigint) as missing,
    g.after_invoice,
    g.before_invoice,
    cast(g.usual_step as bigint) as usual_step,
    case g.kind
        when 'voided'
            then g.after_invoice || ' was voided, and nothing else covers ' || g.expected_from || ' to ' || g.expected_to
        when 'period'
            then p.tenant || ' is invoiced every ' || g.usual_step || ' days, and nothing covers ' || g.expected_from
                || ' to ' || g.expected_to
        when 'overdue'
            then p.tenant || ' is invoiced every ' || g.usual_step || ' days, and nothing came since ' || g.after_invoice
        else g.missing || case when g.missing = 1 then ' number is' else ' numbers are' end || ' missing between '
            || g.after_invoice || ' and ' || g.before_invoice
    end as finding
from gaps as g
left join parties as p on p.party = g.party
where matches_tenant(p.tenant_id, p.tenant)
and is_from(g.expected_to)
and is_until(g.expected_from)
order by p.tenant nulls last, p.invoice_level, g.expected_from, g.kind, g.after_invoice
