-- The rows of --fx by which a loaded line can be converted for the budget, whatever the filters.
create or replace temp view matched_rows as
with billed as (
    select distinct month_of(report_date) as month, currency_code from loaded_shipments
)
select distinct f.line
from billed as s
join fx as f on f.from_currency = s.currency_code and (f.month is null or f.month = s.month)
semi join budget as b on b.currency_code = f.to_currency
