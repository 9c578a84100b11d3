-- name: macros
-- The rules that all reports share (docs/report-rules.md). `/` and avg() return DOUBLE in DuckDB, which loses cents; these
-- stay in HUGEINT and DECIMAL and round once, half away from zero.

-- An amount as a whole number of ten-thousandths. Below ten thousand million the product fits 18 digits, where it is
-- forty times as fast.
create or replace temp macro ten_thousandths(x) as
    case
        when abs(x) < 10000000000
            then cast(cast(cast(x as decimal(18, 4)) * cast(10000 as decimal(5, 0)) as bigint) as hugeint)
        else cast(cast(x as decimal(38, 4)) * cast(10000 as decimal(5, 0)) as hugeint)
    end;

-- numerator / denominator of two whole numbers, rounded half away from zero to a whole number; null over zero. Each
-- argument is used twice only: macros are expanded as text, so arguments are planned as often as they are written.
create or replace temp macro rounded_quotient(n, d) as
    (2 * cast(n as hugeint) + sign(n) * abs(cast(d as hugeint))) // (2 * cast(d as hugeint));

-- The same of whole numbers from zero up, in hundred-millionths of one. Numbers of 64 bits are divided fifty times as fast as
-- those of 128, so the whole part is divided first and the remainder then. Only for columns: n and d are repeated.
create or replace temp macro hundred_millionths(n, d) as
    case
        when n < 9000000000000000000 and d < 40000000000
            then cast(cast(n as bigint) // cast(d as bigint) as hugeint) * 100000000
                + (200000000 * (cast(n as bigint) % cast(d as bigint)) + cast(d as bigint)) // (2 * cast(d as bigint))
        else rounded_quotient(n * 100000000, d)
    end;

-- n / d of whole numbers above zero in millionths, and n times a factor in millionths that is not below zero; equal to
-- rounded_quotient(n * 1000000, d) and rounded_quotient(n * factor, 1000000).
create or replace temp macro growth_of(n, d) as
    case
        when n < 4000000000000 and d < 1000000000000000000
            then cast((2000000 * cast(n as bigint) + cast(d as bigint)) // (2 * cast(d as bigint)) as hugeint)
        else rounded_quotient(n * 1000000, d)
    end;
create or replace temp macro grown_by(n, factor) as
    case
        when n between 0 and 2000000000 and factor < 2000000000
            then cast((cast(n as bigint) * cast(factor as bigint) + 500000) // 1000000 as hugeint)
        else rounded_quotient(n * factor, 1000000)
    end;

-- Whole numbers back to decimals: ten-thousandths to four, hundredths to two.
create or replace temp macro as_amount(n) as cast(n as decimal(34, 0)) * cast(0.0001 as decimal(4, 4));
create or replace temp macro as_hundredths(n) as cast(n as decimal(36, 0)) * cast(0.01 as decimal(2, 2));
create or replace temp macro as_millionths(n) as cast(n as decimal(32, 0)) * cast(0.000001 as decimal(6, 6));

-- amount per unit, four decimals.
create or replace temp macro per(amount, units) as
    as_amount(rounded_quotient(ten_thousandths(amount) * 10000, ten_thousandths(units)));

-- part of whole in percent, two decimals. Of nothing, or of less than nothing, no part is a percentage: the sign of a
-- change would turn (from -18 to 64 is no change of -456 %).
create or replace temp macro percent_of(part, whole) as
    case when whole > 0 then as_hundredths(rounded_quotient(ten_thousandths(part) * 10000, ten_thousandths(whole))) end;

-- The credits of a group: its negative lines, which its billing cost contains.
create or replace temp macro credits_of(cost) as coalesce(sum(cost) filter (where cost < 0), 0);

-- The part of what was charged that was credited again, in percent, of a cost that contains its credits.
create or replace temp macro credited_percent(cost, credits) as percent_of(-credits, cost - credits);

-- Pounds of a group: each unit is summed, then kilograms are brought to pounds and rounded once. Null when no
-- shipment of the group has a weight.
create or replace temp macro sum_lb(weight, unit) as
    case
        when count(weight) > 0
            then coalesce(sum(weight) filter (where unit = 'LB'), 0)
                + cast(round(coalesce(sum(weight) filter (where unit = 'KG'), 0) * 2.2046226218, 4) as decimal(38, 4))
    end;

-- A cost per pound of a group, rounded once: the pounds it is divided by are not rounded before, they are whole
-- hundred-millionths of a millionth. Null when no shipment of the group has a weight.
create or replace temp macro per_lb(cost, weight, unit) as
    as_amount(
        rounded_quotient(
            ten_thousandths(cost) * 100000000000000,
            ten_thousandths(coalesce(sum(weight) filter (where unit = 'LB'), 0)) * 10000000000
                + ten_thousandths(coalesce(sum(weight) filter (where unit = 'KG'), 0)) * 22046226218
        )
    );

-- Pounds of a single shipment, not rounded, so that what weighs more than a break is beyond it: 0.4536 kg is
-- 1.00001682124848 lb. What weighs less than a tonne, so nearly everything, is multiplied in 64 bits, which is five times
-- as fast.
create or replace temp macro lb_of(weight, unit) as
    case unit
        when 'LB' then cast(weight as decimal(38, 14))
        when 'KG' then
            case
                when abs(weight) < 1000
                    then cast(cast(weight as decimal(7, 4)) * cast(2.2046226218 as decimal(11, 10)) as decimal(38, 14))
                else cast(cast(weight as decimal(27, 4)) * cast(2.2046226218 as decimal(11, 10)) as decimal(38, 14))
            end
    end;

-- "Zone 5", "ZONE-05", " 05 " and "5" are one zone: 5. Anything that is not a number stays, in upper case and
-- without the word zone. Only functions of one text, no CASE: DuckDB then computes them once for each spelling of a block.
create or replace temp macro normal_zone(zone) as
    upper(
        regexp_replace(
            regexp_replace(trim(zone), '^(?:zone)?[\s_#:.-]*0*([1-9][0-9]*|0)$', '\1', 'i'),
            '^zone[\s_#:.-]+([^\s_#:.-].*)$', '\1', 'is'
        )
    );

-- A date's month, as 2026-03.
create or replace temp macro month_of(day) as strftime(day, '%Y-%m');

-- A weight rounded up to whole pounds. Pounds, and kilograms below a tonne, need no wide decimal.
create or replace temp macro rated_lb(weight, unit) as
    case unit
        when 'LB' then cast(ceil(weight) as bigint)
        when 'KG' then
            case
                when abs(weight) < 1000
                    then cast(ceil(cast(weight as decimal(7, 4)) * cast(2.2046226218 as decimal(11, 10))) as bigint)
                else cast(ceil(lb_of(weight, 'KG')) as bigint)
            end
    end;

-- The number of a zone that is in one spelling already, when it is a number: 17.5 stays 17.5.
create or replace temp macro zone_number(zone) as
    try_cast(regexp_extract(zone, '^[0-9]{1,9}(?:\.[0-9]{1,4})?$') as decimal(13, 4));

-- A mean of n numbers that sum to total, two decimals.
create or replace temp macro mean_of(total, n) as
    as_hundredths(rounded_quotient(ten_thousandths(total), cast(n as hugeint) * 100));

-- A median is the mean of the two middle values, four decimals. They are often equal, and a division of 128 bits takes a
-- microsecond.
create or replace temp macro middle_of(lower, upper) as
    case
        when lower = upper then cast(lower as decimal(38, 4))
        else as_amount(rounded_quotient(ten_thousandths(lower) + ten_thousandths(upper), 2))
    end;

-- The median of a group's values.
create or replace temp macro median_of(x) as middle_of(quantile_disc(x, 0.5), -quantile_disc(-x, 0.5));

-- The same where equal values are one row: n is how many values there are and up_to how many are at most this one.
create or replace temp macro median_at(x, up_to, n) as
    middle_of(min(x) filter (where 2 * up_to >= n), min(x) filter (where 2 * up_to > n));

-- By how much something grew, in percent of what it was. Of nothing, or of less than nothing, there is no percentage.
create or replace temp macro change_percent(now, before) as case when before > 0 then percent_of(now - before, before) end;

-- The key of a tenant: the id, or the name where no id is known. No id begins with a quotation mark.
create or replace temp macro tenant_key(tenant_id, tenant) as coalesce(tenant_id, '"' || tenant);

create or replace temp macro matches_tenant(tenant_id, tenant) as
    (
        getvariable('tenants') is null
        or list_contains(cast(getvariable('tenants') as varchar[]), tenant_key(tenant_id, tenant))
    );

-- The empty partner means "none known".
create or replace temp macro matches_partner(partner_id) as
    (
        getvariable('partners') is null
        or list_contains(cast(getvariable('partners') as varchar[]), coalesce(partner_id, ''))
    );

create or replace temp macro matches_currency(currency) as
    (getvariable('currencies') is null or list_contains(cast(getvariable('currencies') as varchar[]), currency));

-- An unknown level counts as tenant level.
create or replace temp macro matches_level(level) as
    list_contains(cast(getvariable('levels') as varchar[]), coalesce(level, 'unknown'));

-- The date that the period filter selects by.
create or replace temp macro report_date_of(ship_date, invoice_date) as
    case when getvariable('date_basis') = 'invoice-date' then invoice_date else ship_date end;
create or replace temp macro is_from(day) as
    (getvariable('date_from') is null or day >= cast(getvariable('date_from') as date));
create or replace temp macro is_until(day) as
    (getvariable('date_to') is null or day <= cast(getvariable('date_to') as date));

-- The filter has carriers as our lines write them, a person's file in any case.
create or replace temp macro matches_carrier_in_file(carrier) as
    (
        getvariable('carriers') is null
        or list_contains(list_transform(cast(getvariable('carriers') as varchar[]), lambda c: lower(c)), lower(carrier))
    );

-- The filters are session variables, so no value becomes part of a query. Null means "all", the empty zone "none given".
create or replace temp macro passes_filters_but_dates(tenant_id, tenant, carrier, zone, currency) as
    matches_tenant(tenant_id, tenant)
    and (getvariable('carriers') is null or list_contains(cast(getvariable('carriers') as varchar[]), carrier))
    and (
        getvariable('zones') is null
        or list_contains(cast(getvariable('zones') as varchar[]), coalesce(zone, ''))
    )
    and matches_currency(currency);

-- Whether a shipment passes every filter but the level.
create or replace temp macro passes_filters(tenant_id, tenant, carrier, zone, currency, ship_date, invoice_date) as
    is_from(report_date_of(ship_date, invoice_date))
    and is_until(report_date_of(ship_date, invoice_date))
    and passes_filters_but_dates(tenant_id, tenant, carrier, zone, currency);

-- The first day of a date's month, ten times as fast as date_trunc.
create or replace temp macro month_start(day) as day - (day(day) - 1)::integer;

-- A 32-bit hash of a tracking number, by which the few numbers on several lines are found. Different numbers may share one,
-- so numbers with the same hash are compared.
create or replace temp macro mark_of(tracking_number) as cast(hash(tracking_number) & 4294967295 as uinteger);

-- name: definitions
-- Definitions of terms, for all reports; the docs of the reports repeat them.

-- A postal code as it is usually written: no blanks of any kind at its ends, single spaces within, capital letters.
create or replace temp macro origin_of(origin) as upper(trim(regexp_replace(origin, '[\s\p{Z}]+', ' ', 'g')));

-- Whether a name has a word, in upper or lower case: "Ground" in "UPS Ground®" and not in "Playground Express".
create or replace temp macro has_word(name, word) as
    contains(
        ' ' || regexp_replace(lower(coalesce(name, '')), '[^\p{L}\p{N}]+', ' ', 'g') || ' ',
        ' ' || trim(regexp_replace(lower(word), '[^\p{L}\p{N}]+', ' ', 'g')) || ' '
    );

-- The mean of two middle values that are whole days, one decimal.
create or replace temp macro middle_day(low, high) as
    cast(cast(low + high as bigint) * 5 as decimal(18, 0)) * cast(0.1 as decimal(1, 1));

-- The first day of a date's month, or of its week, which begins on Monday; and the name of either: 2026-03, 2026-W10.
create or replace temp macro period_start(day, grain) as
    case when grain = 'week' then day - (isodow(day) - 1)::integer else month_start(day) end;
create or replace temp macro period_of(start, grain) as
    case when grain = 'week' then strftime(start, '%G-W%V') else month_of(start) end;

-- The month or week before a period, and the one a year before.
create or replace temp macro period_before(start, grain) as
    case when grain = 'week' then start - interval 7 day else start - interval 1 month end;
create or replace temp macro year_before(start, grain) as
    case when grain = 'week' then start - interval 364 day else start - interval 1 year end;

-- A rated weight in pounds, and in the unit of its carrier. Whole pounds are pounds.
create or replace temp macro rated_as(rated) as {
    lb: rated, weight: cast(rated as decimal(24, 4)), unit: if(rated is null, null, 'lb')
};

-- A weight in 10^-14 lb, in which pounds, kilograms and ounces are whole numbers, so that 0.5 kg is exactly 0.5 kg.
create or replace temp macro size_of_unit(unit) as
    cast(case lower(unit) when 'lb' then 10000000000 when 'kg' then 22046226218 when 'oz' then 625000000 end as hugeint);
create or replace temp macro exact_weight(weight, unit) as ten_thousandths(weight) * size_of_unit(unit);

-- A billed weight as a text that is equal for equal weights; a line without weight has one of its own kind.
create or replace temp macro weight_key(weight, unit) as coalesce(cast(exact_weight(weight, unit) as varchar), '');

-- The weight break of a shipment by its pounds, upper bounds included; the last one has none.
create or replace temp macro break_of(lb) as
    case
        when lb <= 0 then 0 when lb <= 1 then 1 when lb <= 2 then 2 when lb <= 3 then 3 when lb <= 5 then 5
        when lb <= 10 then 10 when lb <= 20 then 20 when lb <= 30 then 30 when lb <= 50 then 50 when lb <= 70 then 70
        when lb <= 150 then 150 when lb > 150 then 999
    end;
create or replace temp macro break_name(up_to) as
    case up_to
        when 0 then '0 lb' when 1 then '0 to 1 lb' when 2 then '1 to 2 lb' when 3 then '2 to 3 lb' when 5 then '3 to 5 lb'
        when 10 then '5 to 10 lb' when 20 then '10 to 20 lb' when 30 then '20 to 30 lb' when 50 then '30 to 50 lb'
        when 70 then '50 to 70 lb' when 150 then '70 to 150 lb' when 999 then 'over 150 lb' else 'no weight'
    end;

-- The same by a line's weight; 1000 means none.
create or replace temp macro weight_break_of(weight, unit) as coalesce(break_of(lb_of(weight, unit)), 1000);

-- Whether a parameter of several names, joined by +, contains a name.
create or replace temp macro has_name(names, name) as list_contains(string_split(names, '+'), name);

-- The zones of a carrier's service are a scale when all that are given are numbers no more than 20 apart, as 2 to 8 are.
-- Zones of 102 to 308 are several services, and 44 beside 2 to 8 is a place and no distance.
create or replace temp macro is_scale(zones, numbers, least, greatest) as
    numbers > 0 and zones = numbers and greatest - least <= 20;

-- An amount in another currency, at a rate of eight decimals, rounded once.
create or replace temp macro converted(amount, rate) as
    as_amount(rounded_quotient(
        ten_thousandths(amount) * cast(rate * cast(100000000 as decimal(10, 0)) as hugeint), 100000000
    ));

-- A value with how many have it, as an element of a list that middle_values reads.
create or replace temp macro counted_value(value, n) as {low: value, high: value, up_to: cast(n as bigint)};

-- The two middle ones, low and high, of n values: of a sorted list of counted values.
create or replace temp macro middle_values(sorted, n) as
    list_reduce(
        sorted,
        lambda reached, next: {
            low: if(2 * reached.up_to >= n, reached.low, next.low),
            high: if(2 * reached.up_to > n, reached.high, next.high),
            up_to: reached.up_to + next.up_to
        }
    );

-- The packages of a group (ADR 18): its lines less those that repeat a number that the group already has.
create or replace temp macro packages_of(lines, repeats) as lines - coalesce(repeats, 0);

-- Lines with the groups of "cost"; a group that is not selected is null on every line.
create or replace temp macro lines_by(groups, lines) as table
    select
        *,
        if(has_name(groups, 'month'), month_start(report_date), null) as of_month,
        if(has_name(groups, 'week'), period_start(report_date, 'week'), null) as of_week,
        if(has_name(groups, 'tenant'), tenant, null) as of_tenant,
        if(has_name(groups, 'carrier'), carrier, null) as of_carrier,
        if(has_name(groups, 'service'), service_level, null) as of_service,
        if(has_name(groups, 'zone'), zone, null) as of_zone,
        if(has_name(groups, 'origin'), origin, null) as of_origin,
        if(has_name(groups, 'weight'), weight_break_of(billable_weight, billable_weight_unit), null) as of_weight
    from query_table(lines);

-- Possible faults of a line: each is a bit in line_faults.
create or replace temp macro fault_names() as [
    'origin is missing',
    'billable weight is missing',
    'billable weight is zero',
    'weight unit is missing',
    'carrier zone is missing',
    'carrier zone has an unusual spelling',
    'carrier invoice date is missing',
    'service level is missing',
    'cost is zero',
    'cost is a credit',
    'shipped after it was invoiced',
    'carrier billed before it was shipped',
    'carrier billed after it was invoiced',
    'ship date is outside the billing period',
    'currency differs from the invoice''s header',
    'tracking number went through a spreadsheet',
    'text has blanks at its ends',
    'origin has lost its leading zero',
    'origin has an unusual spelling'
];
create or replace temp macro has_fault(faults, name) as
    list_contains(fault_names(), name) and (faults >> (list_position(fault_names(), name) - 1)) & 1 = 1;
