-- Nothing to claim: the key of invoice_state itself is what two writers meet at.
select 1 where $invoice_ids::text is null
