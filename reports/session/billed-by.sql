-- What each invoice bills by what "cost" groups by: few rows are cheap to count and to add up.
create or replace temp macro billed_by(asked) as table
    select
        invoice_id,
        of_month, of_week, of_tenant, of_carrier, of_service, of_zone, of_origin, of_weight,
        currency_code,
        billable_weight_unit as unit,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        credits_of(billing_cost) as credits,
        sum(billable_weight) as weight
    from lines_by(asked, 'selected_shipments')
    group by all
