-- title: Data quality of invoice files
-- purpose: Health, 4
-- grain: check, currency
-- means: each check counts the lines it finds, and a line may be found by several; a check that finds none has no
--   row. Where a value that a check compares is missing, it finds nothing. "… is missing": origin, billable weight,
--   weight unit (of a weight), carrier zone, carrier invoice date, service level. Values: "billable weight is zero";
--   "cost is zero"; "cost is a credit" (below zero). Dates: "shipped after it was invoiced"; "carrier billed before
--   it was shipped"; "carrier billed after it was invoiced"; "ship date is outside the billing period" of the
--   invoice's header; "currency differs from the invoice's header". Spelling: "carrier zone has an unusual spelling",
--   it is not in its one form ("Zone 5" for 5); "tracking number went through a spreadsheet", like 1.23E+11; "text
--   has blanks at its ends", spaces at those of a tracking number, carrier or tenant; "origin has an unusual
--   spelling", which has no blanks at its ends, single spaces within and capital letters; "origin has lost its
--   leading zero", it has three or four digits and is also an origin with zeros before it, five digits in all.
--   share_of_shipments is of all lines in that currency. example is the tracking number of the first line found, by
--   invoice id and then by its number in the file, and example_invoice the number of its invoice.
-- order: currency; most lines first; problem
-- cannot say: that a line is wrong. An empty cell is allowed where the file format allows it; nothing is repaired
--   here.
-- units: share_of_shipments %, billing_cost money
-- detail: example_invoice
-- chart: bar key=problem value=shipments
-- drilldown: shipments by problem, currency_code; shipments, billing_cost, invoices
-- example: Of three lines one has no weight, and "2139" is used beside "02139".
--   lines: tracking_number | origin | billable_weight | billable_weight_unit
--   A | 02139 | 2 | LB
--   B | 2139 | 2 | LB
--   C | 02139 | |
--   rows: problem | shipments | share_of_shipments | example
--   billable weight is missing | 1 | 33.33 | C
--   origin has lost its leading zero | 1 | 33.33 | B
with
checks as (
    select unnest(fault_names()) as problem, unnest(range(len(fault_names()))) as bit
),
-- Lines of an invoice with the same faults become one row.
grouped as (
    select
        invoice_id,
        currency_code,
        faults,
        count(*) as shipments,
        sum(billing_cost) as billing_cost,
        min(row_number) as first_row,
        {number: arg_min(tracking_number, row_number) filter (where faults <> 0), invoice: any_value(invoice_number)} as example
    from line_faults
    group by invoice_id, currency_code, faults
),
-- The same of all invoices, before anything is multiplied by the number of checks.
alike as (
    select
        currency_code,
        faults,
        sum(shipments) as shipments,
        sum(billing_cost) as billing_cost,
        min({invoice_id: invoice_id, row_number: first_row}) as first_line,
        arg_min(example, {invoice_id: invoice_id, row_number: first_row}) as example
    from grouped
    group by currency_code, faults
),
totals as (
    select currency_code, sum(shipments) as shipments from alike group by currency_code
),
found as (
    select
        c.bit,
        a.currency_code,
        cast(sum(a.shipments) as bigint) as shipments,
        percent_of(sum(a.shipments), any_value(t.shipments)) as share_of_shipments,
        sum(a.billing_cost) as billing_cost,
        arg_min(a.example, a.first_line) as example
    from alike as a
    join checks as c on a.faults & (1 << c.bit) <> 0
    join totals as t on t.currency_code = a.currency_code
    group by c.bit, a.currency_code
),
-- How many invoices have a fault: what is wrong with any line of an invoice is one number.
invoices_with as (
    select c.bit, i.currency_code, sum(i.invoices)::bigint as invoices
    from (
        select currency_code, faults, count(*) as invoices
        from (select currency_code, bit_or(faults) as faults from grouped group by invoice_id, currency_code)
        group by currency_code, faults
    ) as i
    join checks as c on i.faults & (1 << c.bit) <> 0
    group by c.bit, i.currency_code
)
select
    c.problem,
    f.currency_code,
    f.shipments,
    f.share_of_shipments,
    i.invoices,
    f.billing_cost,
    f.example.number as example,
    f.example.invoice as example_invoice
from found as f
join invoices_with as i on i.bit = f.bit and i.currency_code = f.currency_code
join checks as c on c.bit = f.bit
order by f.currency_code, f.shipments desc, c.problem
