-- What each invoice bills by tenant, carrier and unit and, when asked, by period and service: few rows, which are cheap
-- to count and to add up.
create or replace temp macro invoiced(period, service) as table
    select
        invoice_id,
        tenant,
        carrier,
        period as start,
        service as service_level,
        currency_code,
        billable_weight_unit as unit,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        credits_of(billing_cost) as credits,
        sum(billable_weight) as weight
    from selected_shipments
    group by all
