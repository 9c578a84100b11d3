-- Pounds are not rounded, so that a weight above a break is beyond it: 0.4536 kg is 1.00001682124848 lb. Below a tonne
-- it is multiplied in 64 bits, five times as fast.
create or replace macro lb_of(weight, unit) as
    case unit
        when 'LB' then cast(weight as decimal(38, 14))
        when 'KG' then
            case
                when abs(weight) < 1000
                    then cast(cast(weight as decimal(7, 4)) * cast(2.2046226218 as decimal(11, 10)) as decimal(38, 14))
                else cast(cast(weight as decimal(27, 4)) * cast(2.2046226218 as decimal(11, 10)) as decimal(38, 14))
            end
    end;
