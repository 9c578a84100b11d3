-- What each invoice bills of what was asked for: read off the rows.
select
    s.level,
    s.invoice_id,
    s.partner_id,
    s.currency_code,
    s.billable_weight_unit as unit,
    count(*) as shipments,
    count(s.billable_weight) as weighed,
    sum(s.billing_cost) as billing_cost,
    credits_of(s.billing_cost) as credits,
    sum(s.billable_weight) as weight
from filtered_shipments as s
where {{conditions}}
group by all
