-- invoice_state with the owner of each invoice. An invoice of an unknown partner (imported without details) belongs to the only
-- partner that any invoice names; with several partners its owner stays unknown, a group of its own.
create or replace view internal.owned_invoices as
select * replace (
    coalesce(
        partner_id,
        (select any_value(partner_id) from internal.invoice_state having count(distinct partner_id) = 1)
    ) as partner_id
)
from internal.invoice_state;
