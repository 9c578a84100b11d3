select (hash(tracking_number) & 4294967295)::uinteger as mark, load_id, row_number
from shipment_rows
where load_id in (select load_id from loads where rowid >= $from::bigint and rowid < $to::bigint)
order by mark
