-- The lines with which something is wrong, for who lists those of one fault. Kept as long as the filters are.
create temp table if not exists faulty_lines as
select invoice_id, row_number, faults from line_faults where faults <> 0
