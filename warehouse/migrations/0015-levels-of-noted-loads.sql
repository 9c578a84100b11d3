-- Loads whose invoice has another level than when their tracking numbers were looked at are looked at again. From now on the
-- ledger forgets them when it writes the level (forget-package-loads.sql), so that a publication need not compare them all.
delete from internal.package_loads as p
using internal.loads as l, internal.invoice_state as i
where l.load_id = p.load_id and i.invoice_id = l.invoice_id
    and p.is_partner <> (i.invoice_level is not distinct from 'partner');
