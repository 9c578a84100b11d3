-- What each billed weight is rated as by each carrier, by the steps of --weights. All is counted in 10^-14 lb
-- (exact_weight).
create or replace temp table rated_weights as
with bands as (
    select
        lower(coalesce(carrier, '')) as carrier,
        unit,
        ten_thousandths(step) as step,
        size_of_unit(unit) as unit_size,
        exact_weight(up_to, unit) as up_to
    from weights
    union all
    -- Whoever is not named rates in whole pounds.
    select '', 'lb', 10000, 10000000000, null where not exists (select 1 from weights where carrier is null)
),
carriers as (
    select c.carrier, coalesce(b.carrier, '') as band_carrier
    from (select distinct carrier from loaded_shipments) as c
    left join (select distinct carrier from bands) as b on b.carrier = lower(c.carrier)
),
billed as (
    select
        billable_weight,
        billable_weight_unit,
        exact_weight(billable_weight, billable_weight_unit) as exact
    from (select distinct billable_weight, billable_weight_unit from loaded_shipments where billable_weight is not null)
),
banded as (
    select
        c.carrier,
        w.billable_weight,
        w.billable_weight_unit,
        any_value(w.exact) as exact,
        arg_min(
            {step: b.step, unit_size: b.unit_size, unit: b.unit},
            {is_open: b.up_to is null, up_to: coalesce(b.up_to, 0)}
        ) as band
    from carriers as c
    cross join billed as w
    join bands as b on b.carrier = c.band_carrier and (b.up_to is null or w.exact <= b.up_to)
    group by all
),
stepped as (
    select
        *,
        (band).step * (band).unit_size as step_size,
        case when exact > 0 then (exact + step_size - 1) // step_size else -(-exact // step_size) end as steps
    from banded
)
select
    carrier,
    billable_weight,
    billable_weight_unit,
    {
        exact: steps * step_size,
        lb: as_amount(rounded_quotient(steps * step_size, 10000000000)),
        weight: as_amount(steps * (band).step),
        unit: (band).unit
    } as rated
from stepped
