-- What loads hold that are in the table.
from totals_of('shipment_rows', $first::integer, $last::integer)
