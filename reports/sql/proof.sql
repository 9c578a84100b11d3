-- title: Is every invoice loaded exactly as it was billed?
-- grain: invoice
-- means: stated is what the invoice's header says, loaded what our rows sum to; both differences should be zero.
--   Amounts of different currencies have no difference.
--   proof is how the file was proved: hash (its SHA-256 was announced and found), header (count and sum agree), or
--   unproved. differences names what two honest sources disagree about. verdict sums it up.
-- cannot say: whether the billing service billed rightly; it proves that we hold what it sent.
-- units: stated_total money, billing_cost money, difference money
-- detail: version, invoice_level, invoice_id, file_sha256, loaded_at
select
    invoice_number,
    tenant,
    currency_code,
    invoice_date,
    state,
    stated_shipments,
    shipments,
    shipments - stated_shipments as shipments_difference,
    stated_currency,
    stated_total_amount as stated_total,
    billing_cost,
    case when stated_currency is not distinct from currency_code then billing_cost - stated_total_amount end as difference,
    proof,
    discrepancy_rules as differences,
    case
        when state = 'voided' then 'voided, not counted'
        when shipments is null then 'not loaded'
        when discrepancies > 0 then 'contradicted'
        when proof in ('hash', 'header') then 'proved'
        else 'unproved'
    end as verdict,
    version,
    invoice_level,
    invoice_id,
    file_sha256,
    loaded_at
from selected_invoices
join (select invoice_id, currency_code as stated_currency from invoice_state) using (invoice_id)
order by currency_code, invoice_date, invoice_number, invoice_id
