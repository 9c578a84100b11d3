-- name: undated-shipments
-- Lines pass every filter but the dates; `is_examined` marks those that pass the dates too, for comparison with earlier months.
create or replace temp view undated_shipments as
select * from loaded_shipments
where passes_filters_but_dates(tenant_id, tenant, carrier, carrier_zone, currency_code)

-- name: tenant-shipments
-- Only the filter of tenants applies, since tenants may have their own prices.
create or replace temp view tenant_shipments as
select * from loaded_shipments where matches_tenant(tenant_id, tenant)

-- name: voided-shipments
-- With an instant, these are of invoices that were void then, even if the void was undone since.
create or replace temp view voided_shipments as
select s.* replace (coalesce(n.label, s.tenant) as tenant), coalesce(s.invoice_level, 'unknown') as level
from (
    select * exclude (version, load_id, is_current) from shipment_versions
    where is_current and voided_at is not null and getvariable('as_known_on') is null
    union all by name
    select * from voided_shipments_as_known_on(cast(getvariable('as_known_on') as timestamptz))
) as s
left join tenant_labels as n on n.tenant_key = tenant_key(s.tenant_id, s.tenant)
where matches_partner(s.partner_id)
and passes_filters(s.tenant_id, s.tenant, s.carrier, s.carrier_zone, s.currency_code, s.ship_date, s.invoice_generation_date)
and matches_level(s.invoice_level)

-- name: repeated-marks
-- Marks are sorted, which takes less memory than grouping them.
create or replace temp macro repeated_marks(lines) as table
    select distinct mark
    from (
        select mark, lag(mark) over (order by mark) as mark_before
        from (select mark_of(tracking_number) as mark from query_table(lines))
    )
    where mark = mark_before

-- name: repeated-lines
-- Candidates for lines with equal tracking numbers: they are few, so packages are cheap to count exactly. A
-- collision of marks adds a line but changes no count. Kept as long as the filters are.
create temp table if not exists repeated_lines as
select
    s.carrier, s.tracking_number, s.tenant, s.tenant_id, s.origin, s.carrier_zone, s.zone, s.service_level,
    s.currency_code, s.report_date, s.billable_weight, s.billable_weight_unit,
    lb_of(s.billable_weight, s.billable_weight_unit) as lb
from selected_shipments as s
semi join repeated_marks('selected_shipments') as r on r.mark = mark_of(s.tracking_number)

-- name: repeats-by
-- Lines less repeats are packages. Groups without repeats are missing.
create or replace temp macro repeats_by(a, b, c, d) as table
    select a as a, b as b, c as c, d as d, currency_code, count(*) - count(distinct (carrier, tracking_number)) as repeats
    from repeated_lines
    group by all
    having count(*) > count(distinct (carrier, tracking_number))

-- name: paired-lines
-- Each credit cancels one charge of exactly its amount. Remaining charges with one `charge` are the same charge: their
-- amounts or their weights are equal, or those of others between them. An unknown weight equals none.
create or replace temp macro paired_lines(lines) as table
    with recursive placed as (
        select
            *,
            row_number() over (
                partition by carrier, tracking_number, currency_code, billing_cost order by invoice_id, row_number
            ) as place
        from query_table(lines)
    ),
    counts as (
        select carrier, tracking_number, currency_code, billing_cost, count(*) as n from placed group by all
    ),
    paired as materialized (
        select l.*, coalesce(l.place > o.n, true) as is_unpaired, row_number() over () as line
        from placed as l
        left join counts as o
            on o.carrier = l.carrier and o.tracking_number = l.tracking_number and o.currency_code = l.currency_code
            and o.billing_cost = -l.billing_cost
    ),
    -- Each round gives a charge the smallest name of its equals, until no name of the number changes.
    named as (
        select
            line,
            dense_rank() over (order by carrier, tracking_number, currency_code) as number,
            billing_cost,
            exact_weight(billable_weight, billable_weight_unit) as weight,
            line as charge,
            true as is_changing,
            0 as round
        from paired
        where is_unpaired and billing_cost > 0
        union all
        select
            * exclude (charge_before)
            replace (bool_or(charge < charge_before) over (partition by number) as is_changing, round + 1 as round)
        from (
            select
                * replace (
                    least(
                        min(charge) over (partition by number, billing_cost),
                        if(weight is null, null, min(charge) over (partition by number, weight))
                    ) as charge
                ),
                charge as charge_before
            from named
            where is_changing
        )
    )
    select p.* exclude (line), n.charge
    from paired as p
    left join (select line, arg_max(charge, round) as charge from named group by line) as n on n.line = p.line

-- name: line-faults
create or replace temp view line_faults as
with
-- Origins are compared once each: "2139" has lost a zero when "02139" exists.
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
-- Only lines of these invoices can be outside the period or in another currency, since a load records its
-- ship dates and currencies.
unlike as (
    select invoice_id, invoice_start_date, invoice_end_date, stated_currency_code
    from invoices
    where getvariable('as_known_on') is not null
    or coalesce(first_ship_date < invoice_start_date or last_ship_date > invoice_end_date, true)
    or currencies is distinct from stated_currency_code
)
-- A comparison with an empty cell is not a fault.
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
    + if(o.spelling <> s.origin, 262144, 0)
    + if(
        abs(s.invoice_generation_date - s.ship_date) > 731 or abs(s.invoice_generation_date - s.carrier_invoice_date) > 731,
        524288,
        0
    )
    + if(
        is_of_another_column(s.carrier_zone, s.tracking_number)
        or is_of_another_column(s.service_level, s.tracking_number)
        or is_of_another_column(s.carrier, s.tracking_number)
        or (s.origin = s.tracking_number and length(s.origin) >= 4),
        1048576,
        0
    ) as faults
from selected_shipments as s
left join unlike as i on i.invoice_id = s.invoice_id
left join origins as o on o.origin = s.origin

-- name: faulty-lines
create temp table if not exists faulty_lines as
select invoice_id, row_number, faults from line_faults where faults <> 0

-- name: billed-by
create or replace temp macro billed_by(groups) as table
    select
        invoice_id,
        of_month, of_week, of_tenant, of_carrier, of_service, of_zone, of_origin, of_weight,
        currency_code,
        billable_weight_unit as unit,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        credits_of(billing_cost) as credits,
        sum(billable_weight) as weight
    from lines_by(groups, 'selected_shipments')
    group by all
