-- The loads from this place in their table on whose rows were not looked at yet. Loads are only ever appended, so those are
-- nearly always its last ones, and nothing before them is read.
create or replace temp table unlooked_loads as
select l.load_id, l.shipments
from (select * from loads where rowid >= $from::bigint) as l
anti join package_loads as p on p.load_id = l.load_id
