-- load-totals.sql of the rows that are staged.
from totals_of('staged_rows', $first::integer, $last::integer)
