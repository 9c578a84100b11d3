-- A row per known invoice. currency_code is that of billing_cost, else the stated one: a file may be in another currency than
-- its header, or in several; then billing_cost is the sum of the rows in this currency, and currencies lists all.
create or replace view invoices as
select
    i.invoice_id, i.invoice_number, i.partner_invoice_id, coalesce(i.invoice_level, 'unknown') as invoice_level,
    l.tenant, i.tenant_id, i.partner_tenant_id, i.partner_id,
    i.state, i.reason_code, i.reason, i.state_since at time zone 'UTC' as state_since, i.service_status,
    try_cast(left(i.invoice_start_date, 10) as date) as invoice_start_date,
    try_cast(left(i.invoice_end_date, 10) as date) as invoice_end_date,
    try_cast(left(i.invoice_date, 10) as date) as invoice_date,
    try_cast(left(i.invoice_due_date, 10) as date) as invoice_due_date,
    coalesce(l.currency_code, i.currency_code) as currency_code,
    try_cast(i.stated_total as decimal(30, 4))::decimal(38, 4) as stated_total_amount,
    i.stated_total as stated_total_text,
    i.stated_shipments,
    l.billing_cost::decimal(38, 4) as billing_cost,
    l.shipments,
    l.currencies,
    i.proof,
    coalesce(d.discrepancies, 0) as discrepancies,
    d.rules as discrepancy_rules,
    l.version, i.versions, l.file_sha256, l.file_size_bytes, l.file_source, l.first_ship_date, l.last_ship_date,
    l.load_id, coalesce(l.event_id, i.event_id) as event_id, l.workflow_run_id,
    i.first_seen_at at time zone 'UTC' as first_seen_at,
    i.created_at at time zone 'UTC' as created_at,
    i.finalized_at at time zone 'UTC' as finalized_at,
    i.first_loaded_at at time zone 'UTC' as first_loaded_at,
    i.loaded_at at time zone 'UTC' as loaded_at,
    i.voided_at at time zone 'UTC' as voided_at,
    i.attention_at at time zone 'UTC' as attention_at,
    i.resolved_at at time zone 'UTC' as resolved_at,
    i.currency_code as stated_currency_code,
    i.void_basis, i.restored_at at time zone 'UTC' as restored_at
from internal.owned_invoices as i
left join internal.loads as l on l.load_id = i.current_load_id
left join (
    select invoice_id, count(*) as discrepancies, string_agg(distinct rule, ', ' order by rule) as rules
    from internal.discrepancy_lines
    group by invoice_id
) as d on d.invoice_id = i.invoice_id;
