-- Expected prices from --rates: from_lb < pounds <= to_lb, in the currency of the shipment. A null column matches all.
create or replace temp table rates (
    carrier varchar,
    service_level varchar,
    zone varchar,
    from_lb decimal(18, 4) not null,
    to_lb decimal(18, 4) not null,
    currency_code varchar not null,
    rate decimal(18, 4) not null
)
