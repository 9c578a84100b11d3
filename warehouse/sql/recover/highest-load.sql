-- Rows of a load that never got its line in loads cannot exist (one transaction); they are asked for all the same,
-- because a load id must never be used twice. Only those above the highest line ($above) are looked for: their row groups say
-- that there are none, and no row is read.
select greatest($above::integer, coalesce((select max(load_id) from shipment_rows where load_id > $above::integer), 0)) as load_id
