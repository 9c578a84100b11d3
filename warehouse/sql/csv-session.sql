-- name: csv-session
-- Nothing is sniffed, and every cell is text. new_line is never set (it returns 0 rows for a good file). The byte scan has refused
-- lines above 2,000,000 bytes. One thread reads a file: several guess where a record begins, and may fail at line breaks in quotes.

create or replace temp macro specified_columns() as { {{csv columns}} };

create or replace temp macro tolerated_columns() as struct_concat(specified_columns(), {'added_columns': 'VARCHAR'});

create or replace temp macro invoice_csv(csv_paths, csv_columns) as table
select *, file_index as chunk
from read_csv(
    csv_paths,
    auto_detect = false, header = true, delim = ',', quote = '"', escape = '"',
    strict_mode = true, null_padding = false, parallel = false,
    columns = csv_columns
);

-- A cast alone accepts 2026-2-3, epoch and a time after the date. Length and round trip refuse these, and the year 0.
create or replace temp macro is_day(cell) as strlen(cell) = 10 and cast(try_cast(cell as date) as varchar) = cell;

-- Whether a cell has a visible character (lib/text.ts). The first comparison is for speed.
create or replace temp macro is_something(cell) as case
    when cell >= '!' and cell < chr(127) then true
    else regexp_matches(cell, '[^\x{0}-\x{20}\x{7F}-\x{A0}\x{AD}\x{34F}\x{61C}\x{115F}\x{1160}\x{1680}\x{17B4}\x{17B5}'
        || '\x{180B}-\x{180F}\x{2000}-\x{200F}\x{2028}-\x{202F}\x{205F}-\x{206F}\x{2800}\x{3000}\x{3164}\x{FE00}-\x{FE0F}'
        || '\x{FEFF}\x{FFA0}\x{FFF0}-\x{FFFB}\x{1BCA0}-\x{1BCA3}\x{1D173}-\x{1D17A}\x{E0000}-\x{E0FFF}]') end;

-- A cast alone rounds a fifth decimal and accepts 1e3.
create or replace temp macro is_amount(cell) as regexp_full_match(cell, '-?[0-9]{1,14}(\.[0-9]{1,4})?');
create or replace temp macro is_weight(cell) as regexp_full_match(cell, '[0-9]{1,14}(\.[0-9]{1,4})?');
create or replace temp macro is_unit(cell) as cell in ('LB', 'KG');

-- Converted to lower case only if it differs, for speed.
create or replace temp macro is_id(cell, invoice) as case when cell = invoice then true else lower(cell) = invoice end;

-- An empty cell is null. row_is_good is never null. Currency codes are checked once per file, not per row.
create or replace temp macro checked_columns(csv_paths, invoice, csv_columns) as table
select
    * exclude (invoice_id) replace ({{casts}}),
    {{row is good}} as row_is_good
from invoice_csv(csv_paths, csv_columns);

create or replace temp macro checked_csv(csv_paths, invoice) as table
from checked_columns(csv_paths, invoice, specified_columns());

-- In the order of the file. The first bad row ends the statement; csv-parse then finds the cell.
create or replace temp macro numbered_csv(of_load, csv_path, invoice) as table
select
    of_load::integer as load_id,
    case when row_is_good then file_row::integer else error('row ' || file_row || ' breaks a rule') end as row_number,
    * exclude (file_row, chunk, row_is_good)
from (select row_number() over () as file_row, * from checked_csv([csv_path], invoice));

-- rows_before is the number of rows in the files before, from the byte scan: a file with a row more or less has wrong row numbers,
-- which the load detects. A bad row is only marked, so that the other files are loaded.
create or replace temp macro numbered_files(batch) as table
select
    [struct_extract(file, 'load_id') for file in batch][1 + chunk::integer] as load_id,
    (file_row - [struct_extract(file, 'rows_before') for file in batch][1 + chunk::integer])::integer as row_number,
    * exclude (file_row, chunk)
from (
    select row_number() over () as file_row, *
    from checked_csv(
        [struct_extract(file, 'csv_path') for file in batch],
        [struct_extract(file, 'invoice_id') for file in batch][1 + chunk::integer])
);

create or replace temp macro numbered_chunks(of_load, folder, chunks, invoice, csv_columns) as table
select
    of_load::integer as load_id,
    case when row_is_good then row_of(chunk)::integer else error('a row breaks a rule') end as row_number,
    * exclude (chunk, row_is_good)
from checked_columns([folder || '/' || number || '.csv' for number in range(chunks)], invoice, csv_columns);

-- The bounds skip row groups; other loads may lie between them. The pattern of the code is checked here, since node-api drops a byte
-- order mark at the start of a text.
create or replace temp macro totals_of(rows_table, first_load, last_load) as table
select
    load_id,
    currency_code,
    regexp_full_match(currency_code, '[A-Z]{3}') as is_code,
    count(*)::integer as shipments,
    sum(billing_cost)::decimal(38, 4) as billing_cost,
    min(ship_date) as first_ship_date,
    max(ship_date) as last_ship_date,
    min(row_number) as first_row,
    max(row_number) as last_row,
    min(tenant) as tenant
from query_table(rows_table)
where load_id between first_load and last_load
group by load_id, currency_code
order by load_id, currency_code;

create or replace temp macro is_scientific(cell) as case
    when contains(cell, 'E+') or contains(cell, 'e+') then regexp_full_match(cell, '-?[0-9]([.,][0-9]+)?[eE]\+[0-9]+')
    else false end;

create or replace temp macro damage_of(rows_table, first_load, last_load) as table
select
    load_id,
    count(*) filter (
        is_scientific(tenant) or is_scientific(origin) or is_scientific(tracking_number) or is_scientific(carrier_zone)
        or is_scientific(service_level))::integer as scientific,
    count(*) filter (is_long)::integer as long_numbers,
    count(*) filter (is_cut)::integer as cut_numbers,
    coalesce(sum(strlen(tracking_number) - 15) filter (is_cut), 0)::integer as cut_zeros,
    count(*) filter (case when strlen(origin) = 5 then regexp_full_match(origin, '[0-9]+') else false end)::integer as full_origins,
    count(*) filter (is_short)::integer as short_origins,
    count(*) filter (is_short and currency_code = 'USD')::integer as short_us_origins
from (
    select
        *,
        case when strlen(tracking_number) > 15 then regexp_full_match(tracking_number, '[0-9]+') else false end as is_long,
        case when suffix(tracking_number, '0') then regexp_full_match(tracking_number, '[0-9]{15}0+') else false end as is_cut,
        case when strlen(origin) between 3 and 4 then regexp_full_match(origin, '[0-9]+') else false end as is_short
    from query_table(rows_table)
    where load_id between first_load and last_load
)
group by load_id;
