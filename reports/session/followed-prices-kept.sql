-- The prices that price_moves follows, for who reads them besides.
create or replace temp view followed_prices as
from monthly_prices
