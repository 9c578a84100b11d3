-- What each finalized invoice that was not voided comes to in each currency, whatever the filters are: a payment is divided in one way, whoever
-- asks, and what is usual does not depend on the days that are looked at. total is what the header states, or what its rows sum to where no
-- total is stated in that currency.
create or replace temp view invoice_totals as
select
    i.*,
    case
        when i.stated_total_amount is not null and i.stated_currency_code is not distinct from i.currency_code
            then cast(i.stated_total_amount as decimal(38, 4))
        else i.billing_cost
    end as total
from (
    select * from invoices
    union all by name
    select i.* replace (a.currency_code as currency_code, a.billing_cost as billing_cost)
    from invoices as i
    join invoice_amounts as a on a.invoice_id = i.invoice_id and a.currency_code <> i.currency_code
) as i
where i.state not in ('draft', 'voided') and i.service_status is distinct from 'draft' and i.voided_at is null
