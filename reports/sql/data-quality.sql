-- title: Data quality of invoice files
-- purpose: Health, 4
-- grain: check, currency
-- means: Each check counts the lines it finds; several checks may find the same line. An unusual spelling of a zone is
--   any but its plain form ("Zone 5" for 5), of an origin one with lower case or extra blanks. A tracking number like
--   1.23E+11 went through a spreadsheet. An origin of three or four digits that also occurs with zeros before it has
--   lost its leading zero. A ship date or a carrier's invoice date more than two years (731 days) from the invoice date is
--   far from it. A zone, service or carrier of at least four characters that has eight digits in a row, or is a date, an
--   amount such as 12.50 or the tracking number, looks like a value of another column, as does such an origin that is
--   the tracking number. `example` is the tracking number of the first line found.
-- order: currency; most lines first; problem
-- limits: A line that is found need not be wrong: the file format allows empty cells. Nothing is repaired.
-- units: share_of_shipments %
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
-- Equal rows are grouped before they are multiplied by the number of checks.
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
