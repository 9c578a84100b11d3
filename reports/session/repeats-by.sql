-- How many lines of a group repeat a carrier's tracking number that the group already has: its lines less these are its
-- packages. Groups without any are not here. A report names up to four columns by which it groups; the currency is always one.
create or replace temp macro repeats_by(a, b, c, d) as table
    select a as a, b as b, c as c, d as d, currency_code, count(*) - count(distinct (carrier, tracking_number)) as repeats
    from repeated_lines
    group by all
    having count(*) > count(distinct (carrier, tracking_number))
