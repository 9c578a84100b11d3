-- invoice_state with the owner of each invoice. An invoice of an unknown partner (imported without details) belongs to the only
-- partner that any invoice names; with several partners its owner stays unknown, a group of its own.
create or replace view internal.owned_invoices as
select * replace (
    coalesce(
        partner_id,
        (select case when min(partner_id) = max(partner_id) then min(partner_id) end from internal.invoice_state)
    ) as partner_id
)
from internal.invoice_state;
