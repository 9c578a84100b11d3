-- What the stage must show before a row is taken from it: as many rows as the byte scan counted, none of them bad,
-- row ids without a gap.
select count(*) as rows, count(*) filter (where not row_is_good) as bad_rows, min(rowid) as first_row, max(rowid) as last_row
from staged_shipments
