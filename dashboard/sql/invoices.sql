-- The rows of some invoices, in the order of $ids. A tenant that none of the invoice's files name is null: tenant-names.sql.
select
    invoice_id, invoice_number, tenant, invoice_level, state, state_since, invoice_date, currency_code, stated_total_amount,
    billing_cost, shipments, proof, discrepancies, reason, first_seen_at,
    -- The dates of late charges contradict nothing (see the report proof).
    regexp_matches(coalesce(discrepancy_rules, ''), '\b(total-amount|shipment-count|currency)\b') as is_contradicted,
    reason_code, discrepancy_rules, loaded_at, partner_id, tenant_id, partner_tenant_id
from invoices
where list_contains(cast($ids as uuid[]), invoice_id)
order by list_position(cast($ids as uuid[]), invoice_id)
