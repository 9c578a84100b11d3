-- Kept as long as the filters are, so that several reports of a page read the shipments once.
create temp table if not exists invoiced_months as
from invoiced(month_start(report_date))
