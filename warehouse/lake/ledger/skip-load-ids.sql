-- After loads were repeated under the ids they had: ids go on above the highest that was ever told. Nothing is set when they do so
-- already, since others may be taking ids.
select setval('load_ids', h.highest) as load_id
from (select greatest($highest::integer, (select max(load_id) from loads)) as highest) as h
where h.highest > (select last_value from load_ids)
