-- Exact arithmetic for every report. `/` and avg() answer DOUBLE in DuckDB, which loses cents; these stay in integers
-- (HUGEINT) and DECIMAL and round once, half away from zero.

-- A DECIMAL(38,4) as a whole number of ten-thousandths.
create or replace temp macro ten_thousandths(x) as
    cast(cast(x as decimal(38, 4)) * cast(10000 as decimal(5, 0)) as hugeint);

-- numerator / denominator of two whole numbers, rounded half away from zero to a whole number; null over zero.
create or replace temp macro rounded_quotient(n, d) as
    case
        when d <> 0
            then cast(sign(n) * sign(d) as hugeint)
                * ((2 * abs(cast(n as hugeint)) + abs(cast(d as hugeint))) // (2 * abs(cast(d as hugeint))))
    end;

-- Whole numbers back to decimals: ten-thousandths to four, hundredths to two.
create or replace temp macro as_amount(n) as cast(n as decimal(34, 0)) * cast(0.0001 as decimal(4, 4));
create or replace temp macro as_hundredths(n) as cast(n as decimal(36, 0)) * cast(0.01 as decimal(2, 2));

-- amount per unit, four decimals.
create or replace temp macro per(amount, units) as
    as_amount(rounded_quotient(ten_thousandths(amount) * 10000, ten_thousandths(units)));

-- part of whole in percent, two decimals.
create or replace temp macro percent_of(part, whole) as
    as_hundredths(rounded_quotient(ten_thousandths(part) * 10000, ten_thousandths(whole)));

-- What a group was credited: its negative lines, which its billing cost contains.
create or replace temp macro credits_of(cost) as coalesce(sum(cost) filter (where cost < 0), 0);

-- Pounds of a group: each unit is summed, then kilograms are brought to pounds and rounded once. Null when no
-- shipment of the group has a weight.
create or replace temp macro sum_lb(weight, unit) as
    case
        when count(weight) > 0
            then coalesce(sum(weight) filter (where unit = 'LB'), 0)
                + cast(round(coalesce(sum(weight) filter (where unit = 'KG'), 0) * 2.2046226218, 4) as decimal(38, 4))
    end;

-- Pounds of a single shipment, by the same factor and rounding.
create or replace temp macro lb_of(weight, unit) as
    case unit
        when 'LB' then cast(weight as decimal(38, 4))
        when 'KG' then cast(round(cast(weight as decimal(38, 4)) * 2.2046226218, 4) as decimal(38, 4))
    end;

-- "Zone 5", "ZONE-05", " 05 " and "5" are one zone for the eye: 5. Anything that is not a number stays, upper case.
create or replace temp macro normal_zone(zone) as
    case
        when length(zone) = 1 and zone <> ' ' then upper(zone)
        when zone is null then null
        when regexp_full_match(lower(trim(zone)), '(zone)?[\s_#:.-]*[0-9]+')
            then regexp_extract(trim(zone), '([1-9][0-9]*|0)$', 1)
        else upper(regexp_replace(trim(zone), '^zone[\s_#:.-]+', '', 'i'))
    end;

-- A date's month, as 2026-03.
create or replace temp macro month_of(day) as strftime(day, '%Y-%m');

-- Whole pounds as carriers rate them: every begun pound counts. Pounds need no wide decimal, which is five times dearer.
create or replace temp macro rated_lb(weight, unit) as
    case unit
        when 'LB' then cast(ceil(weight) as bigint)
        when 'KG' then cast(ceil(lb_of(weight, 'KG')) as bigint)
    end;

-- The number of a zone that is in one spelling already, when it is a number.
create or replace temp macro zone_number(zone) as try_cast(zone as integer);

-- a mean of whole numbers, two decimals.
create or replace temp macro mean_of(total, n) as
    as_hundredths(rounded_quotient(cast(total as hugeint) * 100, n));

-- Whether a shipment passes every filter but the level. The filters are session variables, bound one by one by the
-- runner, so that no value ever becomes part of a query; null means "all", the empty zone means "none given".
create or replace temp macro passes_filters(tenant, carrier, zone, currency, ship_date, invoice_date) as
    (
        getvariable('date_from') is null
        or case when getvariable('date_basis') = 'invoice-date' then invoice_date else ship_date end
        >= cast(getvariable('date_from') as date)
    )
    and (
        getvariable('date_to') is null
        or case when getvariable('date_basis') = 'invoice-date' then invoice_date else ship_date end
        < cast(getvariable('date_to') as date)
    )
    and (getvariable('tenants') is null or list_contains(cast(getvariable('tenants') as varchar[]), tenant))
    and (getvariable('carriers') is null or list_contains(cast(getvariable('carriers') as varchar[]), carrier))
    and (
        getvariable('zones') is null
        or list_contains(cast(getvariable('zones') as varchar[]), coalesce(zone, ''))
    )
    and (
        getvariable('currencies') is null
        or list_contains(cast(getvariable('currencies') as varchar[]), currency)
    );
