-- title: How a cell is written that a spreadsheet must not compute
-- A text that a spreadsheet would take for a formula gets an apostrophe in front, as in `report --format csv`; numbers,
-- dates and all other texts are written as they are.
create or replace temp macro spreadsheet_safe(cell) as
case
    when typeof(cell) = 'VARCHAR'
    and regexp_matches(cast(cell as varchar), '^[\s\p{Cf}]*[=+\-@|%\t\r]|^[\t\r\n]')
    then '''' || cast(cell as varchar)
    else cast(cell as varchar)
end
