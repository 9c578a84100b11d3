-- What each load bills by month, so that a reader adds up a line for each month of a load and not each of its rows (ADR 32):
-- of the loads in package_loads, noted at the last publication. A load's rows never change; all of it is made from them.
create table internal.billed_months (
    load_id integer not null,
    tenant varchar not null,
    carrier varchar not null,
    ship_month date not null,               -- its first day
    invoice_month date not null,
    currency_code varchar not null,
    unit varchar,                           -- of the weights
    shipments bigint not null,
    weighed bigint not null,                -- of these, how many have a weight
    billing_cost decimal(38, 4) not null,
    credits decimal(38, 4) not null,        -- the lines below zero, which billing_cost contains
    weight decimal(38, 4)
);

-- Looked at again, all of them.
delete from internal.package_loads;
