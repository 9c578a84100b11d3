-- What is wrong with each line, as a number with a bit for each of fault_names().
create or replace temp view line_faults as
with
-- Spellings are worked out once for each origin, and lines are only looked up among those that are odd, which are few. "2139" has
-- lost a zero when "02139" is an origin as well.
known as materialized (
    select distinct origin from selected_shipments where origin is not null
),
origins as (
    select *
    from (
        select
            o.origin,
            origin_of(o.origin) as spelling,
            regexp_full_match(o.origin, '[0-9]{3,4}') and a.origin is not null as is_short
        from known as o
        left join known as a on a.origin = lpad(o.origin, 5, '0')
    )
    where is_short or spelling <> origin
),
-- Only lines of these can be shipped outside the billing period or be in another currency than the header says: what a load has
-- at most is noted with it.
unlike as (
    select invoice_id, invoice_start_date, invoice_end_date, stated_currency_code
    from invoices
    where getvariable('as_known_on') is not null
    or coalesce(first_ship_date < invoice_start_date or last_ship_date > invoice_end_date, true)
    or currencies is distinct from stated_currency_code
)
-- What cannot be compared, for want of a cell, is no fault.
select
    s.invoice_id,
    s.currency_code,
    s.invoice_number,
    s.row_number,
    s.tracking_number,
    s.billing_cost,
    if(s.origin is null, 1, 0)
    + if(s.billable_weight is null, 2, 0)
    + if(s.billable_weight = 0, 4, 0)
    + if(s.billable_weight is not null and s.billable_weight_unit is null, 8, 0)
    + if(s.carrier_zone is null, 16, 0)
    + if(s.carrier_zone <> s.zone, 32, 0)
    + if(s.carrier_invoice_date is null, 64, 0)
    + if(s.service_level is null, 128, 0)
    + if(s.billing_cost = 0, 256, 0)
    + if(s.billing_cost < 0, 512, 0)
    + if(s.ship_date > s.invoice_generation_date, 1024, 0)
    + if(s.carrier_invoice_date < s.ship_date, 2048, 0)
    + if(s.carrier_invoice_date > s.invoice_generation_date, 4096, 0)
    + if(s.ship_date < i.invoice_start_date or s.ship_date > i.invoice_end_date, 8192, 0)
    + if(s.currency_code <> i.stated_currency_code, 16384, 0)
    + if(
        contains(s.tracking_number, '+')
        and regexp_full_match(s.tracking_number, '[0-9](\.[0-9]+)?[eE]\+[0-9]+'),
        32768,
        0
    )
    + if(
        (contains(s.tracking_number, ' ') and s.tracking_number <> trim(s.tracking_number, ' '))
        or starts_with(s.carrier, ' ') or ends_with(s.carrier, ' ') or starts_with(s.tenant, ' ') or ends_with(s.tenant, ' '),
        65536,
        0
    )
    + if(o.is_short, 131072, 0)
    + if(o.spelling <> s.origin, 262144, 0) as faults
from selected_shipments as s
left join unlike as i on i.invoice_id = s.invoice_id
left join origins as o on o.origin = s.origin
