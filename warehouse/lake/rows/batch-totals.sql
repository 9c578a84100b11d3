-- load-totals.sql of the rows that are about to go into the lake.
from totals_of('batched_shipments', $first::integer, $last::integer)
