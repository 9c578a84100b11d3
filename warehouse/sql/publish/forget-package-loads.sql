-- Those of another level now; they are noted again with the one that they have.
delete from package_loads as p
using loads as l, invoice_state as i
where l.load_id = p.load_id and i.invoice_id = l.invoice_id
    and p.is_partner <> (i.invoice_level is not distinct from 'partner')
