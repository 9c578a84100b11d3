-- Rows of a load that never got its line in loads cannot exist (one transaction); they are asked for all the same,
-- because a load id must never be used twice.
select greatest(
    coalesce((select max(load_id) from loads), 0),
    coalesce((select max(load_id) from shipment_rows), 0))::integer as load_id
