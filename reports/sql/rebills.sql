-- title: Voided invoices and their replacements
-- purpose: Audit, 7
-- grain: voided invoice that had lines, its replacement, currency; a separate row for what was not billed again
-- params: $min_shared_percent integer = 10: with a smaller share of the tracking numbers or of their cost, an invoice is no replacement
-- means: Voided invoices and their replacements: active invoices, dated no earlier, with at least `min_shared_percent`
--   of the tracking numbers and of the cost, whatever its sign. Of a number with a charge on one and a credit on the
--   other, neither bills the other again. `shared_before` and `shared_after` are the cost of the shared numbers on
--   the voided invoice and on the replacement; `missing_numbers` and `missing_cost` are on no replacement. The filters
--   choose lines of voided invoices; replacements are found among all lines of the level.
-- order: currency; voided_at; invoice_number; replacements before what is missing, the most shared numbers first
-- limits: The reason for a void is not known. Voided invoices whose file was never loaded are missing.
-- units: shared_percent %, shared_cost_percent %
-- detail: invoice_id, replacement_id, shared_cost_percent
-- chart: bar key=invoice_number value=missing_cost combine=sum
-- drilldown: invoice by invoice_id
-- example: V had A for 50, B for 40 and C for 10. R bills A and B again, for 50 and 38: two of three numbers, 90 of
--   100. X has C, but that is 10 of 100, less than the quarter required here, so C is missing.
--   invoices: invoice_number | state
--   V | voided
--   lines: invoice_number | tracking_number | billing_cost
--   V | A | 50
--   V | B | 40
--   V | C | 10
--   R | A | 50
--   R | B | 38
--   X | C | 10
--   X | D | 20
--   with: min_shared_percent=25
--   rows: invoice_number | outcome | replacement_number | shared_percent | shared_cost_percent | difference | missing_numbers | missing_cost
--   V | billed again | R | 66.67 | 90.00 | -2.0000 | |
--   V | not billed again | | | | | 1 | 10.0000
with
-- Hashes of tracking numbers (mark_of) find the few active lines that may have the number of a voided one.
marks as (
    select distinct mark_of(tracking_number) as mark from voided_shipments
),
voided as (
    select
        invoice_id,
        any_value(invoice_number) as invoice_number,
        min(tenant) as tenant,
        currency_code,
        any_value(voided_at) as voided_at,
        min(invoice_generation_date) as dated,
        carrier,
        tracking_number,
        count(*) as lines,
        sum(billing_cost) as cost
    from voided_shipments
    group by invoice_id, currency_code, carrier, tracking_number
),
active as (
    select
        invoice_id,
        any_value(invoice_number) as invoice_number,
        max(invoice_generation_date) as dated,
        currency_code,
        carrier,
        tracking_number,
        sum(billing_cost) as cost
    from base_shipments as b
    semi join marks as m on m.mark = mark_of(b.tracking_number)
    where matches_level(invoice_level)
    group by invoice_id, currency_code, carrier, tracking_number
),
invoices_voided as (
    select
        invoice_id,
        currency_code,
        any_value(invoice_number) as invoice_number,
        min(tenant) as tenant,
        any_value(voided_at) as voided_at,
        cast(sum(lines) as bigint) as shipments,
        count(*) as numbers,
        sum(cost) as billing_cost,
        sum(abs(cost)) as size
    from voided
    group by all
),
shared as (
    select
        v.invoice_id,
        v.currency_code,
        v.carrier,
        v.tracking_number,
        v.cost as cost_before,
        l.invoice_id as replacement_id,
        l.invoice_number as replacement_number,
        l.cost as cost_after
    from voided as v
    join active as l
        on l.carrier = v.carrier and l.tracking_number = v.tracking_number and l.currency_code = v.currency_code
        and l.dated >= v.dated
    -- A charge does not bill a credit again, nor a credit a charge.
    where sign(v.cost) * sign(l.cost) >= 0
),
chosen as (
    select
        s.invoice_id,
        s.currency_code,
        s.replacement_id,
        any_value(s.replacement_number) as replacement_number,
        count(*) as numbers,
        sum(s.cost_before) as cost_before,
        sum(s.cost_after) as cost_after
    from shared as s
    join invoices_voided as v using (invoice_id, currency_code)
    group by s.invoice_id, s.currency_code, s.replacement_id, v.numbers, v.size
    having count(*) * 100 >= v.numbers * $min_shared_percent
    and sum(abs(s.cost_before)) * 100 >= v.size * $min_shared_percent
),
missing as (
    select v.invoice_id, v.currency_code, count(*) as numbers, sum(v.cost) as cost
    from voided as v
    where not exists (
        select 1
        from shared as s
        join chosen as c
            on c.invoice_id = s.invoice_id and c.currency_code = s.currency_code and c.replacement_id = s.replacement_id
        where s.invoice_id = v.invoice_id and s.currency_code = v.currency_code and s.carrier = v.carrier
        and s.tracking_number = v.tracking_number
    )
    group by all
),
outcomes as (
    select
        invoice_id,
        currency_code,
        'billed again' as outcome,
        replacement_number,
        replacement_id,
        numbers,
        cost_before,
        cost_after,
        cast(null as bigint) as missing_numbers,
        null as missing_cost
    from chosen
    union all
    select invoice_id, currency_code, 'not billed again', null, null, null, null, null, numbers, cost
    from missing
)
select
    v.invoice_number,
    v.tenant,
    v.currency_code,
    v.voided_at,
    v.shipments,
    v.billing_cost,
    o.outcome,
    o.replacement_number,
    o.numbers as shared_numbers,
    percent_of(o.numbers, v.numbers) as shared_percent,
    percent_of(o.cost_before, v.billing_cost) as shared_cost_percent,
    o.cost_before as shared_before,
    o.cost_after as shared_after,
    o.cost_after - o.cost_before as difference,
    o.missing_numbers,
    o.missing_cost,
    v.invoice_id,
    o.replacement_id
from invoices_voided as v
join outcomes as o on o.invoice_id = v.invoice_id and o.currency_code = v.currency_code
order by v.currency_code, v.voided_at, v.invoice_number, v.invoice_id, o.outcome, o.numbers desc, o.replacement_id
