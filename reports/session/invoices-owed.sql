-- What each finalized invoice that was not voided is owed in each currency, less what was paid of it. The amount is what its header states,
-- or what its rows sum to where no total is stated in that currency.
create or replace temp view invoices_owed as
with payment as (
    select invoice_number, currency_code, lower(tenant) as tenant, sum(amount) as amount from payments group by all
),
-- Several invoices may have one number: each takes what it is owed, in order of due date, and the last what is left.
divided as (
    select
        o.invoice_id,
        o.currency_code,
        p.amount,
        greatest(o.total, 0) as total,
        sum(greatest(o.total, 0)) over (number order by o.invoice_due_date nulls last, o.invoice_date nulls last, o.invoice_id)
            as total_so_far,
        row_number() over (number order by o.invoice_due_date nulls last, o.invoice_date nulls last, o.invoice_id)
        = count(*) over number as is_last
    from payment as p
    join invoice_totals as o
        on o.invoice_number = p.invoice_number and o.currency_code = p.currency_code
        and (p.tenant is null or p.tenant in (lower(o.tenant), lower(o.tenant_id), lower(o.partner_tenant_id)))
    window number as (partition by p.invoice_number, p.currency_code, p.tenant)
),
paid as (
    select
        invoice_id,
        currency_code,
        sum(
            if(is_last, amount, greatest(least(amount, total_so_far), 0))
            - greatest(least(amount, total_so_far - total), 0)
        ) as amount
    from divided
    group by all
)
select
    i.*,
    o.total,
    o.total - coalesce(p.amount, 0) as open_amount,
    cast((select max(published_at) from publication) as date) - i.invoice_due_date as days_past_due
from invoice_currencies as i
join invoice_totals as o on o.invoice_id = i.invoice_id and o.currency_code = i.currency_code
left join paid as p on p.invoice_id = i.invoice_id and p.currency_code = i.currency_code
