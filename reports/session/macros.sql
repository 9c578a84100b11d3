-- name: macros
-- Shared rules (docs/report-rules.md). `/` and avg() return DOUBLE in DuckDB, which loses cents; these stay
-- in HUGEINT and DECIMAL and round once, half away from zero.

-- Below ten thousand million the product fits 18 digits, and multiplies forty times as fast.
create or replace temp macro ten_thousandths(x) as
    case
        when abs(x) < 10000000000
            then cast(cast(cast(x as decimal(18, 4)) * cast(10000 as decimal(5, 0)) as bigint) as hugeint)
        else cast(cast(x as decimal(38, 4)) * cast(10000 as decimal(5, 0)) as hugeint)
    end;

-- The quotient over zero is null. Each argument is used only twice, because macros are expanded as text and every use is planned.
create or replace temp macro rounded_quotient(n, d) as
    (2 * cast(n as hugeint) + sign(n) * abs(cast(d as hugeint))) // (2 * cast(d as hugeint));

-- n and d are not below zero. A division of 64 bits is fifty times as fast as one of 128, so the whole part is divided first. The
-- macro is only for columns, because n and d are repeated.
create or replace temp macro hundred_millionths(n, d) as
    case
        when n < 9000000000000000000 and d < 40000000000
            then cast(cast(n as bigint) // cast(d as bigint) as hugeint) * 100000000
                + (200000000 * (cast(n as bigint) % cast(d as bigint)) + cast(d as bigint)) // (2 * cast(d as bigint))
        else rounded_quotient(n * 100000000, d)
    end;

create or replace temp macro as_amount(n) as cast(n as decimal(34, 0)) * cast(0.0001 as decimal(4, 4));
create or replace temp macro as_hundredths(n) as cast(n as decimal(36, 0)) * cast(0.01 as decimal(2, 2));
create or replace temp macro as_millionths(n) as cast(n as decimal(32, 0)) * cast(0.000001 as decimal(6, 6));

create or replace temp macro per(amount, units) as
    as_amount(rounded_quotient(ten_thousandths(amount) * 10000, ten_thousandths(units)));

-- The percentage has two decimals. It is null for a whole that is not above zero, because the sign of a change would turn (from -18
-- to 64 is no -456 %).
create or replace temp macro percent_of(part, whole) as
    case when whole > 0 then as_hundredths(rounded_quotient(ten_thousandths(part) * 10000, ten_thousandths(whole))) end;

create or replace temp macro credits_of(cost) as coalesce(sum(cost) filter (where cost < 0), 0);

create or replace temp macro credited_percent(cost, credits) as percent_of(-credits, cost - credits);

-- Each unit is summed first, then kilograms are converted and rounded once. The sum is null when no shipment has a weight.
create or replace temp macro sum_lb(weight, unit) as
    case
        when count(weight) > 0
            then coalesce(sum(weight) filter (where unit = 'LB'), 0)
                + cast(round(coalesce(sum(weight) filter (where unit = 'KG'), 0) * 2.2046226218, 4) as decimal(38, 4))
    end;

-- The pounds are not rounded before the division. The result is null when no shipment has a weight.
create or replace temp macro per_lb(cost, weight, unit) as
    as_amount(
        rounded_quotient(
            ten_thousandths(cost) * 100000000000000,
            ten_thousandths(coalesce(sum(weight) filter (where unit = 'LB'), 0)) * 10000000000
                + ten_thousandths(coalesce(sum(weight) filter (where unit = 'KG'), 0)) * 22046226218
        )
    );

-- The day of the publication or of --as-known-on: what is dated later is a mistake, and decides no default.
create or replace temp macro known_on() as
    cast(coalesce(cast(getvariable('as_known_on') as timestamptz), (select max(published_at) from publication)) as date);

create or replace temp macro month_of(day) as strftime(day, '%Y-%m');

-- Pounds, and kilograms below a tonne, are computed without a wide decimal.
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

create or replace temp macro zone_number(zone) as
    try_cast(regexp_extract(zone, '^[0-9]{1,9}(?:\.[0-9]{1,4})?$') as decimal(13, 4));

create or replace temp macro mean_of(total, n) as
    as_hundredths(rounded_quotient(ten_thousandths(total), cast(n as hugeint) * 100));

-- Both are often equal, and then no division of 128 bits is needed, which takes a microsecond.
create or replace temp macro middle_of(lower, upper) as
    case
        when lower = upper then cast(lower as decimal(38, 4))
        else as_amount(rounded_quotient(ten_thousandths(lower) + ten_thousandths(upper), 2))
    end;

-- The result is twice the middle in ten-thousandths, a whole number, because medians of which more is computed are not rounded.
create or replace temp macro twice_middle(lower, upper) as ten_thousandths(lower) + ten_thousandths(upper);
create or replace temp macro twice_median_of(x) as twice_middle(quantile_disc(x, 0.5), -quantile_disc(-x, 0.5));
create or replace temp macro half_amount(twice) as as_amount(rounded_quotient(twice, 2));
create or replace temp macro percent_of_twice(part, whole) as
    case when whole > 0 then as_hundredths(rounded_quotient(part * 10000, whole)) end;

create or replace temp macro median_of(x) as middle_of(quantile_disc(x, 0.5), -quantile_disc(-x, 0.5));

-- The argument n is the number of all values, and up_to of them are at most x.
create or replace temp macro median_at(x, up_to, n) as
    middle_of(min(x) filter (where 2 * up_to >= n), min(x) filter (where 2 * up_to > n));
create or replace temp macro twice_median_at(x, up_to, n) as
    twice_middle(min(x) filter (where 2 * up_to >= n), min(x) filter (where 2 * up_to > n));

-- The change is null when the amount before is not above zero.
create or replace temp macro change_percent(now, before) as case when before > 0 then percent_of(now - before, before) end;

-- The key of a tenant without a known id is its name in quotation marks, with which no id begins.
create or replace temp macro tenant_key(tenant_id, tenant) as coalesce(tenant_id, '"' || tenant);

create or replace temp macro matches_tenant(tenant_id, tenant) as
    (
        getvariable('tenants') is null
        or list_contains(cast(getvariable('tenants') as varchar[]), tenant_key(tenant_id, tenant))
    );

-- The empty partner stands for "none known".
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

create or replace temp macro report_date_of(ship_date, invoice_date) as
    case when getvariable('date_basis') = 'invoice-date' then invoice_date else ship_date end;
create or replace temp macro is_from(day) as
    (getvariable('date_from') is null or day >= cast(getvariable('date_from') as date));
create or replace temp macro is_until(day) as
    (getvariable('date_to') is null or day <= cast(getvariable('date_to') as date));

-- The filter has carriers spelled as lines have them; a user's file may spell them in any case.
create or replace temp macro matches_carrier_in_file(carrier) as
    (
        getvariable('carriers') is null
        or list_contains(list_transform(cast(getvariable('carriers') as varchar[]), lambda c: lower(c)), lower(carrier))
    );

-- A filter that is null means all, and the empty zone means "none given".
create or replace temp macro passes_filters_but_dates(tenant_id, tenant, carrier, zone, currency) as
    matches_tenant(tenant_id, tenant)
    and (getvariable('carriers') is null or list_contains(cast(getvariable('carriers') as varchar[]), carrier))
    and (
        getvariable('zones') is null
        or list_contains(cast(getvariable('zones') as varchar[]), coalesce(zone, ''))
    )
    and matches_currency(currency);

create or replace temp macro passes_filters(tenant_id, tenant, carrier, zone, currency, ship_date, invoice_date) as
    is_from(report_date_of(ship_date, invoice_date))
    and is_until(report_date_of(ship_date, invoice_date))
    and passes_filters_but_dates(tenant_id, tenant, carrier, zone, currency);

-- This expression is ten times as fast as date_trunc.
create or replace temp macro month_start(day) as day - (day(day) - 1)::integer;

-- The mark is a hash of 32 bits: rows with equal marks are candidates, whose numbers are then compared.
create or replace temp macro mark_of(tracking_number) as cast(hash(tracking_number) & 4294967295 as uinteger);

-- An origin is in capital letters, with single spaces and none at the ends.
create or replace temp macro origin_of(origin) as upper(trim(regexp_replace(origin, '[\s\p{Z}]+', ' ', 'g')));

-- Only whole words match, in any case: "Ground" is in "UPS Ground®", not in "Playground Express".
create or replace temp macro has_word(name, word) as
    contains(
        ' ' || regexp_replace(lower(coalesce(name, '')), '[^\p{L}\p{N}]+', ' ', 'g') || ' ',
        ' ' || trim(regexp_replace(lower(word), '[^\p{L}\p{N}]+', ' ', 'g')) || ' '
    );

create or replace temp macro middle_day(low, high) as
    cast(cast(low + high as bigint) * 5 as decimal(18, 0)) * cast(0.1 as decimal(1, 1));

-- Weeks begin on Monday. Periods have names like 2026-03 and 2026-W10.
create or replace temp macro period_start(day, grain) as
    case when grain = 'week' then day - (isodow(day) - 1)::integer else month_start(day) end;
create or replace temp macro period_of(start, grain) as
    case when grain = 'week' then strftime(start, '%G-W%V') else month_of(start) end;

create or replace temp macro period_before(start, grain) as
    case when grain = 'week' then start - interval 7 day else start - interval 1 month end;
create or replace temp macro year_before(start, grain) as
    case when grain = 'week' then start - interval 364 day else start - interval 1 year end;

-- Weights are rated in whole pounds; --weights replaces this macro.
create or replace temp macro rated_as(rated) as {
    lb: rated, weight: cast(rated as decimal(24, 4)), unit: if(rated is null, null, 'lb')
};

-- In units of 10^-14 lb, pounds, kilograms and ounces are whole numbers.
create or replace temp macro size_of_unit(unit) as
    cast(case lower(unit) when 'lb' then 10000000000 when 'kg' then 22046226218 when 'oz' then 625000000 end as hugeint);
create or replace temp macro exact_weight(weight, unit) as ten_thousandths(weight) * size_of_unit(unit);

-- A break includes its upper bound; 999 stands for no bound, 1000 for no weight.
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

create or replace temp macro weight_break_of(weight, unit) as coalesce(break_of(lb_of(weight, unit)), 1000);

create or replace temp macro has_name(names, name) as list_contains(string_split(names, '+'), name);

-- Zones are a scale only when their numbers are within 20, as 2 to 8 are; 102 to 308 are several services, and 44 beside 2 to 8 is
-- a place.
create or replace temp macro is_scale(zones, numbers, least, greatest) as
    numbers > 0 and zones = numbers and greatest - least <= 20;

-- An amount in another currency, in 10^-12, so that a sum of converted amounts is rounded once.
create or replace temp macro converted(amount, rate) as
    ten_thousandths(amount) * cast(cast(rate as decimal(28, 8)) * cast(100000000 as decimal(10, 0)) as hugeint);
create or replace temp macro converted_amount(total) as as_amount(rounded_quotient(total, 100000000));

-- A value and how often it occurs, for the sorted list of middle_values.
create or replace temp macro counted_value(value, n) as {low: value, high: value, up_to: cast(n as bigint)};

-- Returns the two middle ones of n values, which a sorted list of counted values contains.
create or replace temp macro middle_values(sorted, n) as
    list_reduce(
        sorted,
        lambda reached, next: {
            low: if(2 * reached.up_to >= n, reached.low, next.low),
            high: if(2 * reached.up_to > n, reached.high, next.high),
            up_to: reached.up_to + next.up_to
        }
    );

-- Packages are the lines less those that repeat a tracking number of the group (ADR 18).
create or replace temp macro packages_of(lines, repeats) as lines - coalesce(repeats, 0);

-- Reads rows that a caller names in JSON. @param structure as from_json takes it
create or replace temp macro given_rows(json_rows, structure) as table
    select unnest(from_json(json_rows, structure), recursive := true);

-- The columns by which "cost" can group; a column that is not selected is null.
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

-- Each fault has a bit in line_faults, in this order.
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
    'origin has an unusual spelling',
    'a date is more than two years from the invoice',
    'a text looks like a value of another column'
];
-- The text is a tracking number, a date or an amount, as in a file whose columns are shifted.
create or replace temp macro is_of_another_column(text, tracking_number) as
    length(text) >= 4
    and (text = tracking_number or regexp_matches(text, '[0-9]{8}|^[0-9]{4}-[0-9]{2}-[0-9]{2}$|^-?[0-9]+[.][0-9]{2,4}$'));
create or replace temp macro has_fault(faults, name) as
    list_contains(fault_names(), name) and (faults >> (list_position(fault_names(), name) - 1)) & 1 = 1;
