-- Which rows' tracking numbers stand on other rows as well, so that a reader counts packages (ADR 25) without reading every
-- number: those of the loads in package_loads were looked at, at the last publication. All of it is made from shipment_rows.
create table repeated_rows (
    load_id integer not null,
    row_number integer not null
);

-- What a reader needs of these rows, as long as they are few; else none.
create table repeated_copies (
    load_id integer not null,
    row_number integer not null,
    tenant varchar,
    invoice_generation_date date,
    ship_date date,
    origin varchar,
    currency_code varchar,
    billable_weight decimal(18, 4),
    billable_weight_unit varchar,
    tracking_number varchar,
    carrier varchar,
    carrier_zone varchar,
    service_level varchar
);

-- Compared with the loads of the same level only: a partner-level invoice bills what tenants were billed already.
create table package_loads (
    load_id integer not null,
    is_partner boolean not null
);
