-- The charges of each tenant in a month, grouped as a statement adds them up. The session's date basis selects the date.
select *
from (
    select
        partner_id,
        tenant_id,
        tenant,
        kind,
        carrier,
        service_level,
        zone,
        currency_code,
        count(*) as lines,
        count(distinct tracking_number) as packages,
        sum(billing_cost) as amount
    from statement_lines
    where report_date >= cast($from as date) and report_date <= cast($to as date)
    group by all
)
order by
    tenant, tenant_id, partner_id, currency_code, list_position(['charge', 'billed again', 'credit'], kind),
    carrier, service_level nulls last, try_cast(zone as integer) nulls last, zone nulls last
