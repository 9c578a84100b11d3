-- name: shipments-as-published
create or replace temp view known_shipments as
select * from shipments where matches_partner(partner_id)

-- name: shipments-as-known-on
create or replace temp view known_shipments as
select * from shipments_as_known_on(cast(getvariable('as_known_on') as timestamptz)) where matches_partner(partner_id)

-- name: base-plain
create or replace temp view base_shipments as
select * from known_shipments

-- name: base-labelled
create or replace temp view base_shipments as
select s.* replace (coalesce(n.label, s.tenant) as tenant)
from known_shipments as s
left join tenant_labels as n on n.tenant_key = tenant_key(s.tenant_id, s.tenant)

-- name: described-shipments
-- A line with `is_examined` passes every filter but the level.
create or replace temp view described_shipments as
select
    *,
    coalesce(invoice_level, 'unknown') as level,
    report_date_of(ship_date, invoice_generation_date) as report_date,
    normal_zone(carrier_zone) as zone,
    passes_filters(tenant_id, tenant, carrier, carrier_zone, currency_code, ship_date, invoice_generation_date) as is_examined
from base_shipments

-- name: filtered-shipments
create or replace temp view filtered_shipments as
select * from described_shipments where is_examined

-- name: loaded-shipments
-- Reports compare examined lines with these. Levels are never mixed: a partner-level invoice sums the
-- shipments of all tenants (spec 2.9). `rated`: whole pounds, unless --weights sets other steps.
create or replace temp view loaded_shipments as
select *, rated_lb(billable_weight, billable_weight_unit) as rated
from described_shipments
where matches_level(level)

-- name: loaded-shipments-rated
create or replace temp view loaded_shipments as
select s.*, w.rated
from described_shipments as s
left join rated_weights as w
    on w.carrier = s.carrier and w.billable_weight = s.billable_weight and w.billable_weight_unit = s.billable_weight_unit
where matches_level(s.level)

-- name: selected-shipments
create or replace temp view selected_shipments as
select * from loaded_shipments where is_examined

-- name: known-invoices
-- Invoices are in any state. An invoice without rows takes the name under which the tenant was billed before.
create or replace temp view known_invoices as
select i.* replace (coalesce(l.label, t.tenant, i.tenant) as tenant)
from invoices as i
left join tenants as t on t.tenant_id = i.tenant_id and t.partner_id is not distinct from i.partner_id
left join tenant_labels as l on l.tenant_key = tenant_key(i.tenant_id, i.tenant)
where matches_partner(i.partner_id)

-- name: no-rated-weights
create or replace temp table rated_weights (
    carrier varchar, billable_weight decimal(18, 4), billable_weight_unit varchar, rated bigint
)

-- name: rated-weights
-- By the steps of --weights. Units are 10^-14 lb (exact_weight).
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

-- name: rated-as
create or replace temp macro rated_as(rated) as rated
