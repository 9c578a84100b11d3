-- title: Which voided invoices were billed again, and for how much?
-- grain: voided invoice that had rows, currency
-- means: the replacement is the living invoice that shares the most tracking numbers (of the same carrier) with the
--   voided one. shared_before and shared_after are what the shared numbers cost then and now; difference is after less
--   before. Without any shared number the invoice was not billed again, as far as is known.
-- cannot say: why it was voided; nor of voided invoices whose file was never loaded.
-- units: billing_cost money, shared_percent %, shared_before money, shared_after money, difference money
-- chart: bar key=invoice_number value=billing_cost
-- detail: invoice_id, replacement_id
with
-- By these all living lines are looked through for the few that may be of a voided number; the join below compares numbers.
marks as (
    select distinct mark_of(tracking_number) as mark from voided_shipments
),
voided as (
    select invoice_id, invoice_number, tenant, currency_code, voided_at, carrier, tracking_number, count(*) as lines,
        sum(billing_cost) as cost
    from voided_shipments
    group by all
),
living as (
    select invoice_id, invoice_number, currency_code, carrier, tracking_number, sum(billing_cost) as cost
    from base_shipments as b
    semi join marks as m on m.mark = mark_of(b.tracking_number)
    where list_contains(cast(getvariable('levels') as varchar[]), coalesce(invoice_level, 'unknown'))
    group by all
),
shared_numbers_of as (
    select
        v.invoice_id,
        v.currency_code,
        l.invoice_id as replacement_id,
        any_value(l.invoice_number) as replacement_number,
        count(*) as shared,
        sum(v.cost) as shared_before,
        sum(l.cost) as shared_after
    from voided as v
    join living as l
        on l.carrier = v.carrier and l.tracking_number = v.tracking_number and l.currency_code = v.currency_code
    group by all
),
best as (
    select *
    from shared_numbers_of
    qualify row_number() over (partition by invoice_id, currency_code order by shared desc, replacement_id) = 1
),
invoices_voided as (
    select
        invoice_id,
        currency_code,
        any_value(invoice_number) as invoice_number,
        min(tenant) as tenant,
        any_value(voided_at) as voided_at,
        sum(lines) as shipments,
        count(*) as numbers,
        sum(cost) as billing_cost
    from voided
    group by all
)
select
    v.invoice_number,
    v.tenant,
    v.currency_code,
    v.voided_at,
    v.shipments,
    v.billing_cost,
    b.replacement_number,
    b.shared as shared_numbers,
    percent_of(coalesce(b.shared, 0), v.numbers) as shared_percent,
    b.shared_before,
    b.shared_after,
    b.shared_after - b.shared_before as difference,
    v.invoice_id,
    b.replacement_id
from invoices_voided as v
left join best as b on b.invoice_id = v.invoice_id and b.currency_code = v.currency_code
order by v.currency_code, v.voided_at, v.invoice_number, v.invoice_id
