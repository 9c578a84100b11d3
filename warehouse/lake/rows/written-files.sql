-- The files that loads were written to, inside their transaction; those of others between them may be among them.
select distinct filename as path from lake.main.shipment_rows where load_id between $first::integer and $last::integer
