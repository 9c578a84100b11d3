-- title: What is missing or odd in the invoice files?
-- purpose: Health, 4
-- grain: check, currency
-- means: each check counts the lines it finds, and a line may be found by several; a check that finds none has no
--   row. Where a value that a check compares is missing, it finds nothing. Missing: origin, billable weight, weight
--   unit (of a weight), carrier zone, carrier invoice date, service level. Values: weight is zero; cost is zero; cost
--   is a credit (below zero). Dates: shipped after it was invoiced; carrier billed before it was shipped, or after it
--   was invoiced; ship date outside the billing period of the invoice's header; currency differs from the header's.
--   Spelling: a zone that is not in its one form ("Zone 5" for 5); a tracking number like 1.23E+11; blanks at the
--   ends of a tracking number, carrier or tenant; an origin that differs from its usual spelling (no blanks at its
--   ends, single blanks within, capital letters); an origin of three or four digits that is also an origin with zeros
--   before it, up to five digits. share_of_shipments is of all lines in that currency. example is the tracking number
--   of the first line found, by invoice id and line.
-- order: currency; most lines first; problem
-- cannot say: that a line is wrong. An empty cell is allowed where the file format allows it; nothing is repaired
--   here.
-- units: share_of_shipments %, billing_cost money
-- detail: example_invoice
-- chart: bar key=problem value=shipments
-- leads: shipments by currency_code
-- example: Of three lines one has no weight, and "2139" stands beside "02139".
--   lines: tracking_number | origin | billable_weight | billable_weight_unit
--   A | 02139 | 2 | LB
--   B | 2139 | 2 | LB
--   C | 02139 | |
--   rows: problem | shipments | share_of_shipments | example
--   billable weight is missing | 1 | 33.33 | C
--   origin has lost its leading zero | 1 | 33.33 | B
with checks (bit, problem) as (
    values
    (0, 'origin is missing'),
    (1, 'billable weight is missing'),
    (2, 'billable weight is zero'),
    (3, 'weight unit is missing'),
    (4, 'carrier zone is missing'),
    (5, 'carrier zone has an unusual spelling'),
    (6, 'carrier invoice date is missing'),
    (7, 'service level is missing'),
    (8, 'cost is zero'),
    (9, 'cost is a credit'),
    (10, 'shipped after it was invoiced'),
    (11, 'carrier billed before it was shipped'),
    (12, 'carrier billed after it was invoiced'),
    (13, 'ship date is outside the billing period'),
    (14, 'currency differs from the invoice''s header'),
    (15, 'tracking number went through a spreadsheet'),
    (16, 'text has blanks at its ends'),
    (17, 'origin has lost its leading zero'),
    (18, 'origin has an unusual spelling')
),
-- Spellings are worked out once for each origin. "2139" has lost a zero when "02139" is an origin as well.
origins as (
    select
        o.origin,
        origin_of(o.origin) as spelling,
        regexp_full_match(o.origin, '[0-9]{3,4}')
        and exists (select 1 from (select distinct origin from selected_shipments) as a where a.origin = lpad(o.origin, 5, '0'))
            as is_short
    from (select distinct origin from selected_shipments where origin is not null) as o
),
-- What is wrong with a line as a number, a bit for each check: lines of an invoice with the same faults become one row
-- before anything is multiplied by the number of checks. What cannot be compared, for want of a cell, is no fault.
checked as (
    select
        s.invoice_id,
        s.currency_code,
        s.invoice_number,
        s.row_number,
        s.tracking_number,
        s.billing_cost,
        if(s.origin is null, 1, 0)
        + if(s.billable_weight is null, 2, 0)
        + if(s.billable_weight = 0, 4, 0)
        + if(s.billable_weight is not null and s.billable_weight_unit is null, 8, 0)
        + if(s.carrier_zone is null, 16, 0)
        + if(s.carrier_zone <> s.zone, 32, 0)
        + if(s.carrier_invoice_date is null, 64, 0)
        + if(s.service_level is null, 128, 0)
        + if(s.billing_cost = 0, 256, 0)
        + if(s.billing_cost < 0, 512, 0)
        + if(s.ship_date > s.invoice_generation_date, 1024, 0)
        + if(s.carrier_invoice_date < s.ship_date, 2048, 0)
        + if(s.carrier_invoice_date > s.invoice_generation_date, 4096, 0)
        + if(s.ship_date < i.invoice_start_date or s.ship_date > i.invoice_end_date, 8192, 0)
        + if(s.currency_code <> i.stated_currency_code, 16384, 0)
        + if(
            contains(s.tracking_number, '+')
            and regexp_full_match(s.tracking_number, '[0-9](\.[0-9]+)?[eE]\+[0-9]+'),
            32768,
            0
        )
        + if(
            starts_with(s.tracking_number, ' ') or ends_with(s.tracking_number, ' ')
            or s.carrier <> trim(s.carrier, ' ') or s.tenant <> trim(s.tenant, ' '),
            65536,
            0
        )
        + if(o.is_short, 131072, 0)
        + if(o.spelling <> s.origin, 262144, 0) as faults
    from selected_shipments as s
    left join invoices as i on i.invoice_id = s.invoice_id
    left join origins as o on o.origin = s.origin
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
    from checked
    group by invoice_id, currency_code, faults
),
totals as (
    select currency_code, sum(shipments) as shipments from grouped group by all
),
found as (
    select
        c.problem,
        g.currency_code,
        cast(sum(g.shipments) as bigint) as shipments,
        percent_of(sum(g.shipments), any_value(t.shipments)) as share_of_shipments,
        count(distinct g.invoice_id) as invoices,
        sum(g.billing_cost) as billing_cost,
        arg_min(g.example, {invoice_id: g.invoice_id, row_number: g.first_row}) as example
    from grouped as g
    join checks as c on g.faults & (1 << c.bit) <> 0
    join totals as t on t.currency_code = g.currency_code
    group by c.problem, g.currency_code
)
select
    problem,
    currency_code,
    shipments,
    share_of_shipments,
    invoices,
    billing_cost,
    example.number as example,
    example.invoice as example_invoice
from found
order by currency_code, shipments desc, problem
