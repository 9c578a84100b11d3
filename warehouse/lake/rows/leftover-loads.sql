-- Rows whose load no ledger counts: in flight, or left by a writer that died. Files know their load ids, so only the
-- columns of small files are read.
select distinct r.load_id
from lake.main.shipment_rows as r
anti join ledger.loads as l on l.load_id = r.load_id
order by r.load_id
