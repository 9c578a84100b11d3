-- title: Which invoices are stuck, and for how long?
-- grain: invoice that is neither loaded nor voided
-- params: $stuck_after_days integer = 7: from so many days in one state on an invoice counts as stuck
-- means: days are whole days up to the instant of the publication. A draft waits for approval at the service; a
--   finalized invoice waits for its file; needs_attention waits for a person, reason says for what.
-- formerly: aging
-- cannot say: whether a draft was forgotten or is being discussed; nothing of payment is known (see "payables").
-- units: stated_total money, days_in_state days, days_past_due days
-- chart: bar key=invoice_number value=days_in_state
-- detail: invoice_level, invoice_id
-- example: On 1 April at midnight a draft of 30 March, 01:00, has waited one whole day and 23 hours, which is 1 day; an
--   invoice that needs a person since 1 March has waited 31, and was due 7 days ago.
--   invoices: invoice_number | state | created_at | invoice_due_date | reason
--   I-1 | draft | 2026-03-30T01:00:00Z | 2026-04-20 |
--   I-2 | needs_attention | 2026-03-01T00:00:00Z | 2026-03-25 | The file is rejected.
--   published: 2026-04-01T00:00:00Z
--   rows: invoice_number | state | days_in_state | days_past_due | age | is_stuck
--   I-2 | needs_attention | 31 | 7 | 30 days and more | true
--   I-1 | draft | 1 | 0 | 1 to 6 days | false
select
    state,
    invoice_number,
    tenant,
    currency_code,
    stated_shipments,
    stated_total_amount as stated_total,
    invoice_date,
    invoice_due_date as due_date,
    state_since,
    date_diff('hour', state_since, published_at) // 24 as days_in_state,
    greatest(cast(published_at as date) - invoice_due_date, 0) as days_past_due,
    case
        when date_diff('hour', state_since, published_at) // 24 < 1 then 'today'
        when date_diff('hour', state_since, published_at) // 24 < 7 then '1 to 6 days'
        when date_diff('hour', state_since, published_at) // 24 < 30 then '7 to 29 days'
        else '30 days and more'
    end as age,
    date_diff('hour', state_since, published_at) // 24 >= $stuck_after_days as is_stuck,
    reason,
    invoice_level,
    invoice_id
from selected_invoices
cross join (select max(published_at) as published_at from publication) as p
where state not in ('loaded', 'voided')
order by days_in_state desc, state, invoice_number, invoice_id
