-- What was budgeted for a month, from --budget; a null tenant or carrier is the budget of all.
create or replace temp table budget (
    month varchar not null,
    tenant varchar,
    carrier varchar,
    currency_code varchar not null,
    amount decimal(18, 4) not null
)
