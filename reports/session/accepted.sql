-- Differences that somebody accepted with a reason, from --accepted: without an invoice's number for all invoices.
create or replace temp table accepted (
    invoice_number varchar,
    rule varchar not null,
    reason varchar not null
)
