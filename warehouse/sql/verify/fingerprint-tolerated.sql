-- fingerprint-file.sql of a file that was tolerated, from the chunks that were written of it (tolerate.ts).
select
    count(*)::integer as rows,
    coalesce(sum(billing_cost) filter (where currency_code = $currency_code), 0)::decimal(38, 4)::varchar as billing_cost,
    coalesce(string_agg(distinct currency_code, ',' order by currency_code), '') as currencies,
    min(ship_date)::varchar as first_ship_date, max(ship_date)::varchar as last_ship_date,
    (coalesce(sum(hash(row_number, {{cells}})::hugeint), 0)
        + coalesce(sum(hash(row_number, added_columns)::hugeint) filter (where added_columns is not null), 0))::varchar
        as fingerprint,
    0 as bad_rows
from numbered_tolerated(0, $folder, $chunks::integer, $invoice_id)
