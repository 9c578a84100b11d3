-- Of loads that were not looked at before (a load whose invoice has another level now was).
insert into billed_months
select
    r.load_id,
    r.tenant,
    r.carrier,
    r.ship_date - (day(r.ship_date) - 1)::integer,
    r.invoice_generation_date - (day(r.invoice_generation_date) - 1)::integer,
    r.currency_code,
    r.billable_weight_unit,
    count(*),
    count(r.billable_weight),
    sum(r.billing_cost),
    coalesce(sum(r.billing_cost) filter (where r.billing_cost < 0), 0),
    sum(r.billable_weight)
from shipment_rows as r
where r.load_id in (
    select u.load_id
    from unlooked_loads as u
    anti join (select load_id from billed_months where load_id in (select load_id from unlooked_loads)) as m
        on m.load_id = u.load_id
)
group by all
