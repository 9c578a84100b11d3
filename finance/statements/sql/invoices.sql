-- The part of each invoice that bills a tenant in each month of the reported date, as it is now, with what proves it.
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
        month_of(report_date) as period,
        cast(invoice_id as varchar) as invoice_id,
        currency_code,
        count(*) as lines,
        sum(billing_cost) as amount
    from selected_shipments
    where report_date >= cast($from as date) and report_date <= cast($to as date)
    group by all
) as b
left join known_invoices as i on i.invoice_id = cast(b.invoice_id as uuid)
order by b.tenant, b.tenant_id, b.partner_id, b.period, i.invoice_number, b.invoice_id, b.currency_code
