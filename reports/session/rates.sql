-- Expected prices from --rates: from_lb < weight <= to_lb, both in the unit (pounds without one), valid_from <= day < valid_to, in
-- the currency of the shipment. A null fits all.
create or replace temp table rates (
    carrier varchar,
    service_level varchar,
    zone varchar,
    from_lb decimal(18, 4),
    to_lb decimal(18, 4),
    currency_code varchar not null,
    rate decimal(18, 4) not null,
    valid_from date,
    valid_to date,
    unit varchar
)
