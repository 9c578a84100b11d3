-- Loads whose invoice nobody knows: one transaction writes both. Rows without a load are left over from a dead writer,
-- seen by nobody, and removed (leftovers.ts).
select 'orphan-load' as rule, l.load_id::varchar as what, l.invoice_id::varchar as found
from loads as l
anti join invoice_state as i on i.invoice_id = l.invoice_id
