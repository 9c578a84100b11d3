-- Statements of `billsync export`; the variable `folder` is the target.

-- name: macros
-- Escapes invisible characters and formulas in texts, as `report --format csv` does (csv-exact does not): `visible` (lib/text.ts), then the apostrophe
-- (reports/render/csv-text.ts). Numbers, dates and all other texts are unchanged. \s is ASCII here, \p{Z} the rest; the pattern ends
-- with the noncharacters of Unicode.
create or replace temp macro is_unseen(text) as
regexp_matches(
    text,
    '[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\x{A0}\x{1680}\x{2000}-\x{200A}\x{202F}\x{205F}\x{2800}\x{3164}\x{FDD0}-\x{FDEF}\x{FFFE}\x{FFFF}\x{1FFFE}\x{1FFFF}\x{2FFFE}\x{2FFFF}\x{3FFFE}\x{3FFFF}\x{4FFFE}\x{4FFFF}\x{5FFFE}\x{5FFFF}\x{6FFFE}\x{6FFFF}\x{7FFFE}\x{7FFFF}\x{8FFFE}\x{8FFFF}\x{9FFFE}\x{9FFFF}\x{AFFFE}\x{AFFFF}\x{BFFFE}\x{BFFFF}\x{CFFFE}\x{CFFFF}\x{DFFFE}\x{DFFFF}\x{EFFFE}\x{EFFFF}\x{FFFFE}\x{FFFFF}\x{10FFFE}\x{10FFFF}]'
);

-- A joiner between two letters of a script that is written with it is part of the text.
create or replace temp macro is_joined(text) as
regexp_matches(text, '^[\p{L}\p{M}\p{So}\x{1F000}-\x{1FAFF}]$')
and not regexp_matches(text, '^[\p{Latin}\p{Greek}\p{Cyrillic}]$');

create or replace temp macro visible_letter(letters, place) as
case
    when not is_unseen(letters[place]) then letters[place]
    when letters[place] in (chr(8204), chr(8205))
    and coalesce(is_joined(letters[place - 1]) and is_joined(letters[place + 1]), false) then letters[place]
    else format('\u{:04x}', unicode(letters[place]))
end;

create or replace temp macro visible_letters(letters) as
array_to_string(list_transform(generate_series(1, len(letters)), lambda place: visible_letter(letters, place)), '');

create or replace temp macro visible_text(text) as
case
    when is_unseen(text) then visible_letters(regexp_extract_all(regexp_replace(text, '\r?\n', '⏎', 'g'), '(?s).'))
    else text
end;

create or replace temp macro without_formula(text) as
case
    when regexp_matches(text, $$^'*(?:[\s\v\p{Z}\p{Cf}]*[=+\-@|%＝＋－＠\t\r]|[\t\r\n])$$) then '''' || text
    else text
end;

create or replace temp macro csv_cell(cell) as
case
    when typeof(cell) = 'VARCHAR' and getvariable('is_exact') then cast(cell as varchar)
    when typeof(cell) = 'VARCHAR' then without_formula(visible_text(cast(cell as varchar)))
    when typeof(cell) = 'TIMESTAMP WITH TIME ZONE'
    then strftime(try_cast(cast(cell as varchar) as timestamptz), '%Y-%m-%dT%H:%M:%S.%gZ')
    else cast(cell as varchar)
end

-- name: shipments-parquet
-- All billed shipments for other tools as parquet, a folder per month of the ship date
copy (select * replace (cast(invoice_id as varchar) as invoice_id), strftime(ship_date, '%Y-%m') as month from shipments)
to (getvariable('folder')) (
    format parquet, compression zstd, partition_by (month),
    kv_metadata {billsync_month: 'of ship_date', billsync_instants: 'UTC'}
)

-- name: shipments-csv
-- All billed shipments for other tools as csv, a folder per month of the ship date
copy (
    select csv_cell(columns(*))
    from (select * replace (cast(invoice_id as varchar) as invoice_id), strftime(ship_date, '%Y-%m') as month from shipments)
)
to (getvariable('folder')) (format csv, header true, partition_by (month))

-- name: invoices-parquet
-- All invoices for other tools as parquet, a folder per month of the invoice date, unknown without one
copy (select * replace (cast(invoice_id as varchar) as invoice_id), coalesce(strftime(invoice_date, '%Y-%m'), 'unknown') as month from invoices)
to (getvariable('folder')) (
    format parquet, compression zstd, partition_by (month),
    kv_metadata {billsync_month: 'of invoice_date', billsync_instants: 'UTC'}
)

-- name: invoices-csv
-- All invoices for other tools as csv, a folder per month of the invoice date, unknown without one
copy (
    select csv_cell(columns(*))
    from (select * replace (cast(invoice_id as varchar) as invoice_id), coalesce(strftime(invoice_date, '%Y-%m'), 'unknown') as month from invoices)
)
to (getvariable('folder')) (format csv, header true, partition_by (month))
