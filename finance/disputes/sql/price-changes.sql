-- title: Which lines cost more than their price was before?
-- purpose: Audit, 1
-- grain: line
-- source: weights
-- params: $rows text: JSON, month, carrier, service_level, currency_code and zone (null: all) of each row of "price-changes"
--   $min_shipments integer = 3: a price counts in a month only if it has at least this many lines
--   $min_cells integer = 3: with fewer prices compared, a change is not called general
--   $numbers text: JSON, the only tracking numbers wanted; all without it
--   $limit integer = 100000: list at most this many lines, largest amounts first
-- means: the line is compared with the price that its zone and rated weight had in the last month before that had enough
--   lines, as "price-changes" finds it, whatever the filters but the tenant; what is above is claimed, up to the price of its own month: a line far above both is
--   an outlier besides.
-- order: currency; claimed, highest first; invoice_id; row_number
-- cannot say: whether the increase was agreed.
with cells as (
    select start, carrier, service_level, zone, rated, currency_code, median_at(billing_cost, up_to, n) as median
    from cell_prices(month_start(report_date), service_level, 'tenant_shipments')
    where n >= $min_shipments
    group by start, carrier, service_level, zone, rated, currency_code, n
),
changes as (
    select *, lag(median) over (partition by carrier, service_level, zone, rated, currency_code order by start) as before
    from cells
)
select
    month_of(c.start) as month,
    s.carrier,
    s.service_level,
    s.currency_code,
    s.invoice_id,
    s.row_number,
    cast(least(s.billing_cost, c.median) - c.before as decimal(18, 4)) as claimed
from selected_shipments as s
join changes as c
    on c.start = month_start(s.report_date) and c.carrier = s.carrier and c.service_level = s.service_level
    and c.zone = s.zone and c.rated = s.rated and c.currency_code = s.currency_code
semi join (
    select unnest(
        from_json(
            $rows,
            '[{"month": "VARCHAR", "carrier": "VARCHAR", "service_level": "VARCHAR", "currency_code": "VARCHAR", "zone": "VARCHAR"}]'
        ),
        recursive := true
    )
) as w
    on w.month = month_of(c.start) and w.carrier = s.carrier and w.service_level = s.service_level
    and w.currency_code = s.currency_code and (w.zone is null or w.zone = s.zone)
where c.median > c.before and s.billing_cost > c.before and $min_cells is not null
and ($numbers is null or s.tracking_number in (select unnest(from_json($numbers, '["VARCHAR"]'))))
order by s.currency_code, claimed desc, s.invoice_id, s.row_number
limit $limit
