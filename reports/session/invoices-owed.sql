-- What each finalized invoice that was not voided is owed in each currency, less what was paid of it. The amount is what its header states,
-- or what its rows sum to where no total is stated in that currency.
create or replace temp view invoices_owed as
with paid as (
    select invoice_number, currency_code, sum(amount) as amount from payments group by all
)
select
    i.*,
    case
        when i.stated_total_amount is not null and i.stated_currency_code is not distinct from i.currency_code
            then cast(i.stated_total_amount as decimal(38, 4))
        else i.billing_cost
    end as total,
    total - coalesce(p.amount, 0) as open_amount,
    cast((select max(published_at) from publication) as date) - i.invoice_due_date as days_past_due
from invoice_currencies as i
left join paid as p on p.invoice_number = i.invoice_number and p.currency_code = i.currency_code
where i.state not in ('draft', 'voided') and i.service_status is distinct from 'draft'
and i.voided_at is null
