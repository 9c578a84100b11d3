-- title: Invoices waiting or in need of attention
-- purpose: Health, 3
-- grain: invoice that is neither loaded nor voided
-- reads: invoices
-- params: $stuck_after_days integer = 7: an invoice is stuck after this many days in one state
-- means: Invoices that are neither loaded nor voided. A draft waits for approval at the service, a finalized invoice
--   for its file, and one that needs attention for an operator; `reason` is the cause. `days_in_state` counts whole
--   days from `state_since` to the publication.
-- order: longest days_in_state first; state; invoice_number
-- limits: Whether a draft was forgotten or is being discussed is not known. Payments are in `payables`.
-- units: days_in_state days, days_past_due days
-- detail: invoice_level, invoice_id
-- chart: bar key=invoice_number value=days_in_state
-- drilldown: invoice by invoice_id
-- example: On 1 April at midnight a draft of 30 March, 01:00, has waited 1 whole day; an invoice that needs attention
--   since 1 March has waited 31, and was due 7 days ago.
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
    date_sub('day', state_since, published_at) as days_in_state,
    case when invoice_due_date is not null then greatest(cast(published_at as date) - invoice_due_date, 0) end
        as days_past_due,
    case
        when days_in_state < 1 then 'today'
        when days_in_state < 7 then '1 to 6 days'
        when days_in_state < 30 then '7 to 29 days'
        else '30 days and more'
    end as age,
    days_in_state >= $stuck_after_days as is_stuck,
    reason,
    invoice_level,
    invoice_id
from selected_invoices
cross join (select max(published_at) as published_at from publication) as p
where state not in ('loaded', 'voided')
order by days_in_state desc, state, invoice_number, invoice_id
