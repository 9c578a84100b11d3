-- What each invoice bills a tenant in each month, as it is now, with what proves it.
select
    b.*,
    i.invoice_number,
    i.proof,
    i.discrepancy_rules,
    i.file_sha256,
    i.loaded_at
from (
    select
        partner_id,
        tenant_id,
        tenant,
        month_of(invoice_generation_date) as period,
        cast(invoice_id as varchar) as invoice_id,
        currency_code,
        count(*) as lines,
        sum(billing_cost) as amount
    from selected_shipments
    where invoice_generation_date >= cast($from as date) and invoice_generation_date < cast($to as date)
    group by all
) as b
left join known_invoices as i on i.invoice_id = cast(b.invoice_id as uuid)
order by b.tenant, b.tenant_id, b.partner_id, b.period, i.invoice_number, b.invoice_id, b.currency_code
