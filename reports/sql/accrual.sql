-- title: How complete is each month, and what is still to be billed?
-- grain: month of ship date, currency
-- means: billed_by_0 is what the invoices of the same month billed, billed_by_1 that and the month after, and so on;
--   empty: that month has not come yet. completion_percent comes from how earlier months grew (chain ladder: each
--   step's growth is the sum of what months had after it over the sum before it, six decimals, at most a
--   thousandfold). estimated_total is billed times the growth that is left; estimated_unbilled is what it says is
--   missing. The date filters mean the ship date here unless asked otherwise. Months older than six count as complete.
-- cannot say: it is an estimate from habit. The newest month is not over, a new carrier or tenant has no habit yet;
--   without one, completion is 100 % and nothing is estimated.
-- units: billed_by_0 money, billed_by_1 money, billed_by_2 money, billed_by_3 money, billed_by_4 money,
--   billed_by_5 money, billed_by_6 money, billing_cost money, completion_percent %, estimated_total money,
--   estimated_unbilled money
-- chart: bar key=ship_month value=estimated_unbilled
with recursive days as (
    select ship_date, invoice_generation_date, currency_code, sum(billing_cost) as amount
    from selected_shipments
    group by all
),
amounts as (
    select
        cast(date_trunc('month', ship_date) as date) as start,
        currency_code,
        least(greatest(date_diff('month', ship_date, invoice_generation_date), 0), 6) as age,
        sum(amount) as amount
    from days
    group by all
),
months as (
    select
        start,
        currency_code,
        least(greatest(
            date_diff('month', start, (select max(invoice_generation_date) from days)), 0
        ), 6) as observed,
        sum(amount) as billing_cost
    from amounts
    group by all
),
ages as (
    select m.start, m.currency_code, m.observed, unnest(range(0, m.observed + 1)) as age from months as m
),
triangle as (
    select a.start, a.currency_code, a.observed, a.age, coalesce(sum(x.amount), 0) as billed
    from ages as a
    left join amounts as x on x.start = a.start and x.currency_code = a.currency_code and x.age <= a.age
    group by all
),
-- Growth in whole millionths. A step that grew from nothing, shrank below nothing or exploded teaches no habit.
growth as (
    select
        t.currency_code,
        t.age,
        least(
            rounded_quotient(ten_thousandths(sum(n.billed)) * 1000000, ten_thousandths(sum(t.billed))), 1000000000
        ) as factor
    from triangle as t
    join triangle as n on n.start = t.start and n.currency_code = t.currency_code and n.age = t.age + 1
    group by all
),
-- From the oldest age back: what is left to grow is this step's growth times what is left after it.
remaining as (
    select currency_code, 6 as age, cast(1000000 as hugeint) as factor
    from (select distinct currency_code from months)
    union all
    select
        r.currency_code,
        r.age - 1,
        least(
            rounded_quotient(r.factor * coalesce(case when g.factor > 0 then g.factor end, 1000000), 1000000),
            cast(1000000000000 as hugeint)
        )
    from remaining as r
    left join growth as g on g.currency_code = r.currency_code and g.age = r.age - 1
    where r.age > 0
),
estimated as (
    select m.*, r.factor, as_amount(rounded_quotient(ten_thousandths(m.billing_cost) * r.factor, 1000000)) as estimated_total
    from months as m
    join remaining as r on r.currency_code = m.currency_code and r.age = m.observed
),
wide as (
    select
        start,
        currency_code,
        max(billed) filter (where age = 0) as billed_by_0,
        max(billed) filter (where age = 1) as billed_by_1,
        max(billed) filter (where age = 2) as billed_by_2,
        max(billed) filter (where age = 3) as billed_by_3,
        max(billed) filter (where age = 4) as billed_by_4,
        max(billed) filter (where age = 5) as billed_by_5,
        max(billed) filter (where age = 6) as billed_by_6
    from triangle
    group by all
)
select
    month_of(m.start) as ship_month,
    m.currency_code,
    w.billed_by_0,
    w.billed_by_1,
    w.billed_by_2,
    w.billed_by_3,
    w.billed_by_4,
    w.billed_by_5,
    w.billed_by_6,
    m.billing_cost,
    as_hundredths(rounded_quotient(10000000000, m.factor)) as completion_percent,
    m.estimated_total,
    m.estimated_total - m.billing_cost as estimated_unbilled
from estimated as m
join wide as w on w.start = m.start and w.currency_code = m.currency_code
order by m.currency_code, m.start
