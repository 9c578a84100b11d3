-- title: Proof of loaded invoices
-- purpose: Health, 1
-- grain: invoice, currency that its file bills
-- reads: invoices
-- source: accepted
-- means: The header of each invoice beside the sum of its lines. `proof` is "hash" (the file has the SHA-256 that
--   the service named), "announced" (only an event named it), "header" (count and sum agree), "accepted" (imported with
--   `--accept-spreadsheet`) or "unproved". An announced file is confirmed with the service within the hour.
--   `differences` lists the rules on which header and lines disagree, and `grade` is the gravest of them; a rule in
--   `--accepted FILE` no longer counts. `verdict` is "contradicted" when money, count or currency differ. An invoice in
--   several currencies has a row for each, with the stated values in the row of its own currency.
-- order: grade, the gravest first and none last; currency; greatest difference first, whatever its sign, none counting
--   as zero; invoice_date; invoice_number
-- limits: It proves that we have what was sent, not that the billing service billed correctly.
-- detail: version, invoice_level, invoice_id, file_sha256, loaded_at
-- drilldown: invoice by invoice_id
-- example: A sums to 5 and 6.50 was stated, so 1.50 is missing. B was stated with one line more, which its tenant
--   explained. C agrees.
--   invoices: invoice_number | stated_total | stated_shipments
--   A | 6.50 | 1
--   B | 5 | 2
--   C | 5 | 1
--   lines: invoice_number | billing_cost
--   A | 5
--   B | 5
--   C | 5
--   accepted: invoice_number | rule | reason
--   B | shipment-count | one line was merged by the carrier
--   rows: invoice_number | difference | shipments_difference | grade | verdict | accepted_because
--   A | -1.5000 | 0 | money | contradicted |
--   B | 0.0000 | -1 | | proved | one line was merged by the carrier
--   C | 0.0000 | 0 | | proved |
with billed as materialized (
    select * from invoice_currencies
),
rules as (
    select
        i.invoice_id,
        r.rule,
        case r.rule
            when 'total-amount' then 1
            when 'shipment-count' then 2
            when 'currency' then 3
            when 'period' then 4
            else 5
        end as place,
        max(a.reason) as reason
    from billed as i
    cross join unnest(string_split(i.discrepancy_rules, ', ')) as r (rule)
    left join accepted as a on a.rule = r.rule and (a.invoice_number is null or a.invoice_number = i.invoice_number)
    group by all
),
graded as (
    select
        invoice_id,
        min(place) filter (where reason is null) as place,
        string_agg(distinct reason, '; ' order by reason) as accepted_because
    from rules
    group by all
)
select
    i.invoice_number,
    i.tenant,
    i.currency_code,
    i.invoice_date,
    i.state,
    case when i.is_own_currency then i.stated_shipments end as stated_shipments,
    i.lines as shipments,
    case when i.is_own_currency then i.shipments - i.stated_shipments end as shipments_difference,
    i.stated_currency_code as stated_currency,
    case when i.is_own_currency then i.stated_total_amount end as stated_total,
    i.billing_cost,
    case
        when i.is_own_currency and i.stated_currency_code is not distinct from i.currency_code then i.billing_cost - i.stated_total_amount
    end as difference,
    i.proof,
    i.discrepancy_rules as differences,
    case g.place
        when 1 then 'money' when 2 then 'count' when 3 then 'currency' when 4 then 'dates' when 5 then 'form'
    end as grade,
    g.accepted_because,
    case
        when i.state = 'voided' then 'voided, not counted'
        -- The void is an exclusion: the service does not know the invoice, or it is of another partner.
        when i.voided_at is not null then 'excluded, not counted'
        when i.shipments is null then 'not loaded'
        when g.place <= 3 then 'contradicted'
        when i.proof in ('hash', 'header') then 'proved'
        when i.proof = 'announced' then 'announced'
        else 'unproved'
    end as verdict,
    i.version,
    i.invoice_level,
    i.invoice_id,
    i.file_sha256,
    i.loaded_at
from billed as i
left join graded as g on g.invoice_id = i.invoice_id
order by
    coalesce(g.place, 9),
    i.currency_code,
    coalesce(abs(difference), 0) desc,
    i.invoice_date,
    i.invoice_number,
    i.invoice_id
