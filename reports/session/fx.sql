-- Rates of exchange, from --fx: one of from_currency is rate of to_currency; a null month is for all.
create or replace temp table fx (
    month varchar,
    from_currency varchar not null,
    to_currency varchar not null,
    rate decimal(18, 8) not null
)
