-- The rows of a load as one number that changes with any cell of any row, and their count, sum and days.
-- The file is fingerprinted by the same expression (fingerprint-file.sql); row numbers are part of it. Added
-- columns count where there are any (fingerprint-tolerated.sql).
select
    count(*)::integer as rows,
    coalesce(sum(billing_cost) filter (where currency_code = $currency_code), 0)::decimal(38, 4)::varchar as billing_cost,
    coalesce(string_agg(distinct currency_code, ',' order by currency_code), '') as currencies,
    min(ship_date)::varchar as first_ship_date, max(ship_date)::varchar as last_ship_date,
    (coalesce(sum(hash(row_number, {{cells}})::hugeint), 0)
        + coalesce(sum(hash(row_number, added_columns)::hugeint) filter (where added_columns is not null), 0))::varchar
        as fingerprint
from shipment_rows
where load_id = $load_id::integer
