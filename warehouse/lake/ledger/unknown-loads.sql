-- Of the loads that facts tell of, those the warehouse does not have.
select told.load_id
from unnest(list($load_ids)::integer[]) as told(load_id)
where not exists (select 1 from loads as l where l.load_id = told.load_id)
order by told.load_id
