-- The same of the rows that the publication noted (ADR 25), as they are now and of one level: for conditions that ask nothing else
-- than what is noted of them. No other line has a number that stands on two.
select s.partner_id, s.currency_code, s.carrier, s.tracking_number
from (
    select
        *,
        case when getvariable('date_basis') = 'invoice-date' then invoice_generation_date else ship_date end as report_date,
        normal_zone(carrier_zone) as zone
    from asked_repeats
) as s
where {{conditions}}
