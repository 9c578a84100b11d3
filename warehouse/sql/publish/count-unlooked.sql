-- How many loads there are, and of how many the rows were looked at for tracking numbers that repeat.
select
    (select count(*) from loads)::double as loads,
    (select count(*) from package_loads)::double as looked
