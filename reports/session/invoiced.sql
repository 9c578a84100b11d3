-- What each invoice bills by tenant, carrier and unit and period: few rows, which are cheap
-- to count and to add up. Whose invoice it is, is asked of those few rows.
create or replace temp macro invoiced(period) as table
    select g.*, i.tenant_id, i.partner_id
    from (
        select
            invoice_id,
            tenant,
            carrier,
            period as start,
            currency_code,
            billable_weight_unit as unit,
            count(*) as shipments,
            sum(billing_cost) as billing_cost,
            credits_of(billing_cost) as credits,
            sum(billable_weight) as weight
        from selected_shipments
        group by all
    ) as g
    join invoice_state as i on i.invoice_id = g.invoice_id
