select
    count(*)::integer as rows,
    coalesce(sum(billing_cost) filter (where currency_code = $currency_code), 0)::decimal(38, 4)::varchar as billing_cost,
    coalesce(string_agg(distinct currency_code, ',' order by currency_code), '') as currencies,
    min(ship_date)::varchar as first_ship_date, max(ship_date)::varchar as last_ship_date,
    coalesce(sum(hash(row_number, {{cells}})::hugeint), 0)::varchar as fingerprint,
    count(*) filter (where not row_is_good)::integer as bad_rows
from (
    select (row_number() over ())::integer as row_number, *
    from checked_csv([$csv_path], $invoice_id)
)
