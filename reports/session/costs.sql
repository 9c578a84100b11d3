-- What a shipment cost us ourselves, from --costs; several lines of one tracking number are added.
create or replace temp table costs (
    carrier varchar not null,
    tracking_number varchar not null,
    currency_code varchar not null,
    cost decimal(18, 4) not null
)
