-- What stands at the head of a result, by level: how much passes the filters, how it was weighed, how much is proved.
-- Every report waits for this, so the rows that pass are read once, with two plain counts for each invoice and unit (weighed.sql), or
-- not at all (weighed-noted.sql). What there is whatever the filters is in levels.sql.
with counted as (
    select
        invoice_id,
        sum(shipments) as shipments,
        sum(with_weight) filter (where unit = 'LB') as in_pounds,
        sum(with_weight) filter (where unit = 'KG') as in_kilograms
    from weighed
    group by invoice_id
)
select
    coalesce(i.invoice_level, 'unknown') as level,
    cast(sum(c.shipments) as bigint) as shipments,
    count(*) as invoices,
    cast(coalesce(sum(c.in_pounds), 0) as bigint) as in_pounds,
    cast(coalesce(sum(c.in_kilograms), 0) as bigint) as in_kilograms,
    cast(coalesce(sum(c.shipments) filter (where i.proof in ('hash', 'header')), 0) as bigint) as proved,
    -- Money, count and currency contradict an invoice; the dates of late charges do not (see the report proof).
    count(*) filter (
        where i.invoice_id in (
            select invoice_id from discrepancy_lines where rule in ('total-amount', 'shipment-count', 'currency')
        )
    ) as contradicted_invoices
from counted as c
join invoice_state as i on i.invoice_id = c.invoice_id
group by all
