-- title: How a cell is written that a spreadsheet must not compute
-- A text that a spreadsheet would take for a formula gets an apostrophe in front, by the rule of `report --format csv`
-- (reports/render/csv-text.ts); numbers, dates and all other texts are written as they are, and instants as the reports write them. \s is ASCII here, \p{Z} the rest.
create or replace temp macro spreadsheet_safe(cell) as
case
    when typeof(cell) = 'VARCHAR'
    and regexp_matches(cast(cell as varchar), $$^'*(?:[\s\v\p{Z}\p{Cf}]*[=+\-@|%＝＋－＠\t\r]|[\t\r\n])$$)
    then '''' || cast(cell as varchar)
    when typeof(cell) = 'TIMESTAMP WITH TIME ZONE'
    then strftime(try_cast(cast(cell as varchar) as timestamptz), '%Y-%m-%dT%H:%M:%S.%gZ')
    else cast(cell as varchar)
end
