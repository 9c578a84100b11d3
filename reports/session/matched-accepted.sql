-- The rows of --accepted that accept a difference that an invoice has, whatever the filters.
create or replace temp view matched_rows as
select distinct f.line
from (
    select invoice_number, unnest(string_split(discrepancy_rules, ', ')) as rule from known_invoices
) as i
join accepted as f on f.rule = i.rule and (f.invoice_number is null or f.invoice_number = i.invoice_number)
