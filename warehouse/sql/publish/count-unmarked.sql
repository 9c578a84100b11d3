-- How many loads there are, and how many from this place in their table on have about $rows rows together; a large one is taken whole.
select
    (select count(*) from loads)::double as all_loads,
    count(*)::double as loads,
    coalesce(sum(shipments), 0)::double as rows
from (
    select shipments, sum(shipments) over (order by rowid rows unbounded preceding) - shipments as before
    from loads
    where rowid >= $from::bigint
)
where before < $rows::bigint
