-- Of the staged rows those of the loads that may be loaded.
insert into shipment_rows by name
select * exclude (row_is_good) from staged_rows where load_id in (select unnest($load_ids::integer[]))
