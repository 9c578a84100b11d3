-- name: shipped-months
create or replace temp view shipped_months as
select
    month_start(ship_date) as start,
    month_start(invoice_generation_date) as invoiced,
    tenant,
    carrier,
    currency_code,
    -- The amount is null when no line passes the date filter.
    sum(billing_cost) filter (where is_examined) as amount,
    sum(billing_cost) as whole_amount
from undated_shipments
group by all

-- name: most-growth
-- In 10^-12: more than a million times counts as a million times, so that no product exceeds 128 bits.
create or replace temp macro most_growth() as cast(1000000000000000000 as hugeint)

-- name: grown
-- The product is divided in two parts, since the product can exceed 128 bits.
create or replace temp macro grown(amount, growth) as
    (amount // 1000000000000) * growth + rounded_quotient((amount % 1000000000000) * growth, 1000000000000)

-- name: growth-of
create or replace temp macro growth_of(after, before) as
    least(
        (after // before) * 1000000000000 + rounded_quotient((after % before) * 1000000000000, before),
        most_growth()
    )

-- name: estimated
-- An estimate is never below what is billed.
create or replace temp macro estimated(basis, billed_cost, growth) as
    case
        when basis = 'complete' then billed_cost
        when basis = 'chain ladder' then greatest(as_amount(grown(ten_thousandths(billed_cost), growth)), billed_cost)
    end

-- name: accrual-estimates
-- Chain-ladder method with the invoices that are dated up to the close. A month that ends with it has age 0.
create or replace temp macro accrual_estimates(complete_after, min_months, closing) as table
with
-- A month counts as ended on its last day, so that books can be closed on that day.
ended as (
    select month_start(known_on() + 1) as open_month
),
closing as (
    select
        coalesce(month_start(cast(closing as date) + 1), open_month) as open_month,
        coalesce(month_start(cast(closing as date) + 1) <= open_month, true) as has_ended,
        -- The list by_age has seven ages, so a later age is that of the last.
        least(greatest(complete_after, 0), 6) as complete_age
    from ended
),
billed as (
    select
        m.start,
        m.tenant,
        m.carrier,
        m.currency_code,
        greatest(date_diff('month', m.start, m.invoiced), 0) as age,
        sum(m.amount) as amount,
        sum(m.whole_amount) as whole_amount
    from shipped_months as m
    join closing as c on m.start < c.open_month and m.invoiced < c.open_month
    group by all
),
by_ages as (
    select
        b.start,
        b.tenant,
        b.carrier,
        b.currency_code,
        a.age,
        coalesce(sum(b.amount) filter (where b.age <= a.age), 0) as amount,
        coalesce(sum(b.whole_amount) filter (where b.age <= a.age), 0) as whole_amount,
        sum(b.amount) as billed_cost
    from billed as b
    cross join range(7) as a (age)
    group by all
),
-- by_age has only lines that pass the date filter, whole_by_age all, from which growth is taken. Both are
-- valid up to the month's age.
months as (
    select
        b.start,
        b.tenant,
        b.carrier,
        b.currency_code,
        c.open_month,
        c.has_ended,
        c.complete_age,
        date_diff('month', b.start, c.open_month) - 1 as age,
        any_value(b.billed_cost) as billed_cost,
        list(b.amount order by b.age) as by_age,
        list(b.whole_amount order by b.age) as whole_by_age
    from by_ages as b
    cross join closing as c
    group by all
),
steps as (
    select
        tenant,
        carrier,
        currency_code,
        age,
        ten_thousandths(whole_by_age[age + 1]) as before,
        ten_thousandths(whole_by_age[age + 2]) as after
    from (select * exclude (age), unnest(range(0, least(age, complete_age))) as age from months)
    where whole_by_age[age + 1] > 0 and whole_by_age[age + 2] > 0
),
-- The growth is a weighted average in 10^-12, bounded by single months. A month that is not above zero at both ages is left out.
factors as (
    select
        tenant,
        carrier,
        currency_code,
        age,
        count(*) as months,
        growth_of(sum(after), sum(before)) as factor,
        min(growth) as least_factor,
        max(growth) as greatest_factor
    from (select *, growth_of(after, before) as growth from steps)
    group by all
    having count(*) >= min_months
),
ladders as (
    select
        tenant,
        carrier,
        currency_code,
        list({age: age, months: months, factor: factor, least_factor: least_factor, greatest_factor: greatest_factor} order by age desc)
            as steps
    from factors
    group by all
),
-- From the oldest age back, growth is multiplied; a step without enough history ends the chain.
remaining as (
    select
        tenant,
        carrier,
        currency_code,
        age,
        list_reduce(
            steps_left,
            lambda reached, next: {
                age: next.age,
                months: least(reached.months, next.months),
                factor: least(grown(reached.factor, next.factor), most_growth()),
                least_factor: least(grown(reached.least_factor, next.least_factor), most_growth()),
                greatest_factor: least(grown(reached.greatest_factor, next.greatest_factor), most_growth())
            }
        ) as growth
    from (
        select * exclude (steps), list_filter(steps, lambda step: step.age >= age) as steps_left
        from (
            select l.*, c.complete_age, unnest(range(0, c.complete_age)) as age from ladders as l cross join closing as c
        )
    )
    where len(steps_left) = complete_age - age
),
chosen as (
    select
        m.*,
        r.growth,
        case
            when not m.has_ended then 'month has not ended'
            when m.age >= m.complete_age then 'complete'
            when r.growth is null then 'not enough history'
            when m.billed_cost <= 0 then 'nothing billed yet'
            else 'chain ladder'
        end as basis
    from months as m
    left join remaining as r
        on r.tenant = m.tenant and r.carrier = m.carrier and r.currency_code = m.currency_code and r.age = m.age
    where m.billed_cost is not null
)
select
    start,
    tenant,
    carrier,
    currency_code,
    age,
    by_age[1] as billed_by_0,
    case when age >= 1 then by_age[2] end as billed_by_1,
    case when age >= 2 then by_age[3] end as billed_by_2,
    case when age >= 3 then by_age[4] end as billed_by_3,
    case when age >= 4 then by_age[5] end as billed_by_4,
    case when age >= 5 then by_age[6] end as billed_by_5,
    case when age >= 6 then by_age[7] end as billed_by_6,
    billed_cost,
    basis,
    case when basis = 'chain ladder' then growth.months end as history_months,
    case when basis = 'chain ladder' then growth.factor end as factor,
    estimated(basis, billed_cost, growth.factor) as estimated_total,
    estimated(basis, billed_cost, growth.least_factor) as estimated_low,
    estimated(basis, billed_cost, growth.greatest_factor) as estimated_high,
    open_month - 1 as closed_on
from chosen
