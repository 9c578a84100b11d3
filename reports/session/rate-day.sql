-- The day on which a line's rate hangs; it matters only where some rate has one.
create or replace temp macro rate_day(day) as
    case when (select count(*) from rates where valid_from is not null or valid_to is not null) > 0 then day end
