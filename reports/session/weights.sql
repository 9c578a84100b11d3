-- How carriers rate weights, from --weights: rounded up to whole steps of a unit, for weights up to and with up_to in that
-- unit (null: all heavier ones). A null carrier stands for all that the file does not name.
create or replace temp table weights (
    carrier varchar,
    unit varchar not null,
    step decimal(18, 4) not null,
    up_to decimal(18, 4)
)
