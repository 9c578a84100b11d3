-- What a carrier's own statement says, from --statements; several lines of one date are added.
create or replace temp table statements (
    carrier varchar not null,
    carrier_invoice_date date not null,
    currency_code varchar not null,
    amount decimal(18, 4) not null
)
