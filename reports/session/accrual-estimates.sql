-- What each ship month of a tenant and carrier still lacks, by the chain-ladder method: for the report that shows it
-- and the one that books it. Ages are calendar months that have ended since the month began, less one: a month that
-- has just ended has age 0. The answer is as of the publication, or of --as-known-on.
create or replace temp macro accrual_estimates(complete_after, min_months) as table
with recursive answered as (
    select cast(coalesce(
        cast(getvariable('as_known_on') as timestamptz), (select max(published_at) from publication)
    ) as date) as day
),
-- The month that still runs: all before it have ended. On its last day a month counts as ended, so that who closes the
-- books of March on 31 March has it.
closing as (
    select month_start(day + 1) as open_month from answered
),
billed as (
    select
        start,
        tenant,
        carrier,
        currency_code,
        greatest(date_diff('month', start, invoiced), 0) as age,
        sum(amount) as amount
    from shipped_months
    group by all
),
months as (
    select
        b.start,
        b.tenant,
        b.carrier,
        b.currency_code,
        date_diff('month', b.start, c.open_month) - 1 as age,
        sum(b.amount) as billed_cost
    from billed as b
    cross join closing as c
    group by all
),
ages as (
    select start, tenant, carrier, currency_code, unnest(range(0, least(age, 6) + 1)) as age from months
),
-- What each month had been billed when it had each age, as far as that has come; nothing moves after seven.
triangle as (
    select
        a.start,
        a.tenant,
        a.carrier,
        a.currency_code,
        a.age,
        coalesce(sum(b.amount) filter (where b.age <= a.age), 0) as amount
    from ages as a
    join billed as b
        on b.start = a.start and b.tenant = a.tenant and b.carrier = a.carrier and b.currency_code = a.currency_code
    group by all
),
-- A development factor is the weighted average of how months grew from one age to the next, in millionths; the least
-- and the greatest of a single month bound it. A month with nothing above zero at either age teaches nothing.
factors as (
    select
        t.tenant,
        t.carrier,
        t.currency_code,
        t.age,
        count(*) as months,
        rounded_quotient(sum(ten_thousandths(n.amount)) * 1000000, sum(ten_thousandths(t.amount))) as factor,
        min(rounded_quotient(ten_thousandths(n.amount) * 1000000, ten_thousandths(t.amount))) as least_factor,
        max(rounded_quotient(ten_thousandths(n.amount) * 1000000, ten_thousandths(t.amount))) as greatest_factor
    from triangle as t
    join triangle as n
        on n.start = t.start and n.tenant = t.tenant and n.carrier = t.carrier and n.currency_code = t.currency_code
        and n.age = t.age + 1
    where t.amount > 0 and n.amount > 0
    group by all
    having count(*) >= min_months
),
-- From the oldest age back: what is left to grow is this step's growth times what is left after it. A step without
-- enough history ends the chain.
remaining as (
    select
        tenant,
        carrier,
        currency_code,
        least(greatest(complete_after, 0), 6) as age,
        cast(1000000 as hugeint) as factor,
        cast(1000000 as hugeint) as least_factor,
        cast(1000000 as hugeint) as greatest_factor,
        cast(null as bigint) as months
    from (select distinct tenant, carrier, currency_code from months)
    union all
    select
        r.tenant,
        r.carrier,
        r.currency_code,
        f.age,
        rounded_quotient(r.factor * f.factor, 1000000),
        rounded_quotient(r.least_factor * f.least_factor, 1000000),
        rounded_quotient(r.greatest_factor * f.greatest_factor, 1000000),
        least(r.months, f.months)
    from remaining as r
    join factors as f
        on f.tenant = r.tenant and f.carrier = r.carrier and f.currency_code = r.currency_code and f.age = r.age - 1
),
wide as (
    select
        start,
        tenant,
        carrier,
        currency_code,
        max(amount) filter (where age = 0) as billed_by_0,
        max(amount) filter (where age = 1) as billed_by_1,
        max(amount) filter (where age = 2) as billed_by_2,
        max(amount) filter (where age = 3) as billed_by_3,
        max(amount) filter (where age = 4) as billed_by_4,
        max(amount) filter (where age = 5) as billed_by_5,
        max(amount) filter (where age = 6) as billed_by_6
    from triangle
    group by all
),
chosen as (
    select
        m.start,
        m.tenant,
        m.carrier,
        m.currency_code,
        m.age,
        m.billed_cost,
        t.amount as basis_amount,
        r.factor,
        r.least_factor,
        r.greatest_factor,
        r.months,
        case
            when m.age < 0 then 'month has not ended'
            when m.age >= least(greatest(complete_after, 0), 6) then 'complete'
            when r.factor is null then 'not enough history'
            when t.amount <= 0 then 'nothing billed yet'
            else 'chain ladder'
        end as basis
    from months as m
    left join triangle as t
        on t.start = m.start and t.tenant = m.tenant and t.carrier = m.carrier and t.currency_code = m.currency_code
        and t.age = m.age
    left join remaining as r
        on r.tenant = m.tenant and r.carrier = m.carrier and r.currency_code = m.currency_code and r.age = m.age
)
select
    c.start,
    c.tenant,
    c.carrier,
    c.currency_code,
    case when c.age >= 0 then c.age end as age,
    w.* exclude (start, tenant, carrier, currency_code),
    c.billed_cost,
    c.basis,
    case when c.basis = 'chain ladder' then c.months end as history_months,
    case when c.basis = 'chain ladder' then c.factor end as factor,
    case
        when c.basis = 'complete' then c.billed_cost
        when c.basis = 'chain ladder'
            then as_amount(rounded_quotient(ten_thousandths(c.basis_amount) * c.factor, 1000000))
    end as estimated_total,
    case
        when c.basis = 'complete' then c.billed_cost
        when c.basis = 'chain ladder'
            then as_amount(rounded_quotient(ten_thousandths(c.basis_amount) * c.least_factor, 1000000))
    end as estimated_low,
    case
        when c.basis = 'complete' then c.billed_cost
        when c.basis = 'chain ladder'
            then as_amount(rounded_quotient(ten_thousandths(c.basis_amount) * c.greatest_factor, 1000000))
    end as estimated_high,
    cl.open_month
from chosen as c
cross join closing as cl
left join wide as w
    on w.start = c.start and w.tenant = c.tenant and w.carrier = c.carrier and w.currency_code = c.currency_code
