-- The prices of each month, for the reports that follow prices over time. Kept as long as the filters are.
create temp table if not exists monthly_prices as
from prices(month_start(report_date), service_level)
