-- What was paid of an invoice, from --payments; several payments of one invoice are added. A null tenant is any.
create or replace temp table payments (
    invoice_number varchar not null,
    currency_code varchar not null,
    amount decimal(18, 4) not null,
    paid_on date,
    tenant varchar
)
