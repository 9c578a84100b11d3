-- The prices that price_moves follows, for who reads them once: to keep them would be dearer.
create or replace temp view followed_prices as
from prices(month_start(report_date), service_level)
