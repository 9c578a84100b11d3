-- What changed between two versions of an invoice: rows that are only in one of them; of those, rows that differ in
-- nothing but their cost are one change. Equal rows are paired one to one, so a doubled row shows as added. Columns that
-- the specification does not know change nothing that is billed.
with both_versions as (
    select * exclude (row_number, added_columns),
        row(*columns(* exclude (load_id, row_number, added_columns, billing_cost))) as all_but_cost
    from shipment_rows
    where load_id in ($from_load::integer, $to_load::integer)
),
old as (
    select * exclude (load_id) from both_versions where load_id = $from_load::integer
),
new as (
    select * exclude (load_id) from both_versions where load_id = $to_load::integer
),
-- Of rows that are alike but for their cost the cheapest goes with the cheapest, the next with the next.
removed as (
    select *, row_number() over (partition by all_but_cost order by billing_cost) as nth
    from (from old except all from new)
),
added as (
    select *, row_number() over (partition by all_but_cost order by billing_cost) as nth
    from (from new except all from old)
)
select
    case when r.tracking_number is null then 'added' when a.tracking_number is null then 'removed' else 'changed' end as change,
    coalesce(a.tracking_number, r.tracking_number) as tracking_number,
    coalesce(a.ship_date, r.ship_date)::varchar as ship_date,
    coalesce(a.carrier, r.carrier) as carrier,
    coalesce(a.service_level, r.service_level) as service_level,
    coalesce(a.currency_code, r.currency_code) as currency_code,
    r.billing_cost::varchar as old_billing_cost,
    a.billing_cost::varchar as new_billing_cost
from removed as r
full join added as a on a.nth = r.nth and a.all_but_cost is not distinct from r.all_but_cost
order by change, tracking_number, ship_date, old_billing_cost, new_billing_cost
