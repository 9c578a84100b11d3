-- What was asked back of a carrier, from --disputes; several disputes of one number are added.
create or replace temp table disputes (
    carrier varchar not null,
    tracking_number varchar not null,
    currency_code varchar not null,
    amount decimal(18, 4) not null
)
