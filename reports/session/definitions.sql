-- What the trade's words mean, for every report that uses them. Said in the docs of the reports; change both.

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

-- The weight break of a shipment by the pounds up to and with which it goes; the last goes on for ever.
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

-- The same by a line's weight; 1000 stands for none.
create or replace temp macro weight_break_of(weight, unit) as coalesce(break_of(lb_of(weight, unit)), 1000);

-- Whether a parameter of several words, joined by +, has a word.
create or replace temp macro asks_for(words, word) as list_contains(string_split(words, '+'), word);

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

-- Lines with what "cost" groups them by; what is not asked for is null on every line, so that it tells no groups apart.
create or replace temp macro lines_by(asked, lines) as table
    select
        *,
        if(asks_for(asked, 'month'), month_start(report_date), null) as of_month,
        if(asks_for(asked, 'week'), period_start(report_date, 'week'), null) as of_week,
        if(asks_for(asked, 'tenant'), tenant, null) as of_tenant,
        if(asks_for(asked, 'carrier'), carrier, null) as of_carrier,
        if(asks_for(asked, 'service'), service_level, null) as of_service,
        if(asks_for(asked, 'zone'), zone, null) as of_zone,
        if(asks_for(asked, 'origin'), origin, null) as of_origin,
        if(asks_for(asked, 'weight'), weight_break_of(billable_weight, billable_weight_unit), null) as of_weight
    from query_table(lines);

-- What may be wrong with a line: each has the bit of its place in line_faults.
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
