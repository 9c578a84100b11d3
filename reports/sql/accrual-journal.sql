-- title: Journal entries for unbilled freight
-- purpose: Month end, 3
-- grain: line of the journal
-- params: $complete_after integer = 3: as in `accrual`
--   $min_months integer = 3: as in `accrual`
--   $closing date: as in `accrual`
--   $expense_account text = Freight expense: the account to debit
--   $liability_account text = Accrued freight: the account to credit
-- means: The accruals of the report `accrual` as journal entries: booked on the last day of the month that is closed and
--   reversed on the next day. Each is the estimate less what was billed by that day, rounded to two decimals.
-- order: currency; ship_month; tenant; carrier; the accrual before its reversal
-- limits: The accounts of your books are not known here; name them with `--param`.
-- units: debit money, credit money
-- drilldown: shipments by ship_month, tenant, carrier, currency_code
-- example: May of the example of `accrual` still lacks 30. They are booked on 31 May and reversed on 1 June.
--   lines: ship_date | invoice_generation_date | billing_cost
--   2026-01-10 | 2026-01-31 | 60
--   2026-01-10 | 2026-02-28 | 40
--   2026-02-10 | 2026-02-28 | 100
--   2026-02-10 | 2026-03-31 | 60
--   2026-03-10 | 2026-03-31 | 40
--   2026-03-10 | 2026-04-30 | 20
--   2026-05-10 | 2026-05-31 | 50
--   published: 2026-05-31T22:00:00Z
--   with: complete_after=1
--   rows: journal_date | entry | account | debit | credit
--   2026-05-31 | accrual | Freight expense | 30.00 |
--   2026-05-31 | accrual | Accrued freight | | 30.00
--   2026-06-01 | reversal | Accrued freight | 30.00 |
--   2026-06-01 | reversal | Freight expense | | 30.00
with entries as (
    select
        start,
        tenant,
        carrier,
        currency_code,
        closed_on,
        as_hundredths(rounded_quotient(ten_thousandths(estimated_total - billed_cost), 100)) as amount
    from accrual_estimates($complete_after, $min_months, $closing)
    where estimated_total > billed_cost
)
select
    e.closed_on + cast(l.entry = 'reversal' as integer) as journal_date,
    l.entry,
    case when l.is_expense then $expense_account else $liability_account end as account,
    case when l.is_debit then e.amount end as debit,
    case when not l.is_debit then e.amount end as credit,
    e.currency_code,
    e.tenant,
    e.carrier,
    month_of(e.start) as ship_month,
    l.entry || ' of freight shipped in ' || month_of(e.start) || ' and not billed: ' || e.tenant || ', ' || e.carrier
        as description
from entries as e
cross join (
    values
    (1, 'accrual', true, true), (2, 'accrual', false, false), (3, 'reversal', false, true), (4, 'reversal', true, false)
) as l (place, entry, is_expense, is_debit)
where e.amount > 0
order by e.currency_code, e.start, e.tenant, e.carrier, l.place
