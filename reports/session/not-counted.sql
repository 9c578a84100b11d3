-- Invoices of a period that are announced and in no total: the first few by number, each with how many there are and the last day that is
-- billed. By ship date a period is that of the invoice's header; an invoice without dates may be of any.
with dated as (
    select
        *,
        if(getvariable('date_basis') = 'invoice-date', invoice_date, coalesce(invoice_start_date, invoice_date)) as first_day,
        if(getvariable('date_basis') = 'invoice-date', invoice_date, coalesce(invoice_end_date, invoice_date)) as last_day,
        -- As it was known on a day, an invoice that was loaded after it waits.
        load_id is not null
        and coalesce(first_loaded_at <= try_cast(getvariable('as_known_on') as timestamptz) at time zone 'UTC', true)
            as is_loaded
    from known_invoices
    where voided_at is null
    and state <> 'voided'
    and coalesce(first_seen_at <= try_cast(getvariable('as_known_on') as timestamptz) at time zone 'UTC', true)
),
billed as (
    select max(if(getvariable('date_basis') = 'invoice-date', invoice_date, greatest(last_ship_date, invoice_end_date)))
        as billed_to
    from dated
    where is_loaded
),
missing as (
    select
        coalesce(invoice_number, cast(invoice_id as varchar)) as number,
        coalesce(tenant, partner_tenant_id, tenant_id) as tenant,
        if(load_id is null, state, 'finalized') as state,
        count(*) over () as found
    from dated
    where not is_loaded
    and list_contains(cast(getvariable('levels') as varchar[]), invoice_level)
    and is_asked_tenant(tenant_id, coalesce(tenant, partner_tenant_id))
    and (currency_code is null or is_asked_currency(currency_code))
    and ($from is null or last_day is null or last_day >= cast($from as date))
    and ($to is null or first_day is null or first_day <= cast($to as date))
    order by number
    limit 3
)
select b.billed_to, m.number, m.tenant, m.state, coalesce(m.found, 0) as found
from billed as b
left join missing as m on true
order by m.number
