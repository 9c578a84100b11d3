-- The same as billed-by, of what the publication noted: for who asks by month, tenant or carrier and nothing else.
create or replace temp macro billed_by(asked) as table
    select
        invoice_id,
        if(asks_for(asked, 'month'), start, null) as of_month,
        cast(null as date) as of_week,
        if(asks_for(asked, 'tenant'), tenant, null) as of_tenant,
        if(asks_for(asked, 'carrier'), carrier, null) as of_carrier,
        cast(null as varchar) as of_service,
        cast(null as varchar) as of_zone,
        cast(null as varchar) as of_origin,
        cast(null as integer) as of_weight,
        currency_code,
        unit,
        shipments,
        billing_cost,
        credits,
        weight
    from invoiced_months
