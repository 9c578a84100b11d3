-- What analysts open. The names and columns of these views are a contract: add to them freely, change none.
-- Voids, versions and levels are decided here, so no report has to know of them.

-- Which version of an invoice counted at an instant: the one announced last. A load that no event announced is as
-- new as its loading, so late, reordered announcements of an older file change nothing.
create macro current_loads_as_known_on(known_on) as table
select invoice_id, arg_max(load_id, row(announced_at, load_id)) as load_id
from (
    select l.invoice_id, l.load_id, coalesce(max(e.event_timestamp), any_value(l.loaded_at)) as announced_at
    from loads as l
    left join event_ledger as e
        on e.invoice_id = l.invoice_id and e.announced_sha256 = l.file_sha256
        and e.verdict = 'accepted' and not e.is_test_event and e.received_at <= known_on
    where l.loaded_at <= known_on
    group by l.invoice_id, l.load_id
)
group by invoice_id;

-- A row per billed shipment of finalized, not voided invoices.
create view shipments as
select
    r.tenant, i.tenant_id, i.partner_tenant_id, i.invoice_id, i.invoice_number,
    coalesce(i.invoice_level, 'unknown') as invoice_level,
    r.invoice_generation_date, r.ship_date, r.origin, r.currency_code, r.billing_cost,
    r.billable_weight, r.billable_weight_unit, r.tracking_number, r.carrier, r.carrier_zone,
    r.carrier_invoice_date, r.service_level, r.row_number, l.file_sha256, l.loaded_at
from shipment_rows as r
join loads as l on l.load_id = r.load_id
join invoice_state as i on i.current_load_id = r.load_id
where i.voided_at is null;

-- The same as a report saw it at an instant (UTC): versions and voids of later are not there yet.
create macro shipments_as_known_on(known_on) as table
select
    r.tenant, i.tenant_id, i.partner_tenant_id, i.invoice_id, i.invoice_number,
    coalesce(i.invoice_level, 'unknown') as invoice_level,
    r.invoice_generation_date, r.ship_date, r.origin, r.currency_code, r.billing_cost,
    r.billable_weight, r.billable_weight_unit, r.tracking_number, r.carrier, r.carrier_zone,
    r.carrier_invoice_date, r.service_level, r.row_number, l.file_sha256, l.loaded_at
from shipment_rows as r
join loads as l on l.load_id = r.load_id
join current_loads_as_known_on(known_on) as c on c.load_id = r.load_id
join invoice_state as i on i.invoice_id = c.invoice_id
where i.voided_at is null or i.voided_at > known_on;

-- All rows of all versions, voided ones too, for those who ask about the past.
create view shipment_versions as
select
    r.tenant, i.tenant_id, i.partner_tenant_id, i.invoice_id, i.invoice_number,
    coalesce(i.invoice_level, 'unknown') as invoice_level,
    r.invoice_generation_date, r.ship_date, r.origin, r.currency_code, r.billing_cost,
    r.billable_weight, r.billable_weight_unit, r.tracking_number, r.carrier, r.carrier_zone,
    r.carrier_invoice_date, r.service_level, r.row_number, l.file_sha256, l.loaded_at,
    l.version, l.load_id, i.current_load_id = l.load_id as is_current, i.voided_at
from shipment_rows as r
join loads as l on l.load_id = r.load_id
join invoice_state as i on i.invoice_id = l.invoice_id;

-- Where two honest sources differ. Nothing here was refused; what was refused lies in quarantine.
create view discrepancies as
select d.invoice_id, i.invoice_number, d.rule, d.stated, d.found, d.file_sha256, d.event_id, d.recorded_at
from discrepancy_lines as d
join invoice_state as i on i.invoice_id = d.invoice_id;

-- A row per invoice ever heard of.
create view invoices as
select
    i.invoice_id, i.invoice_number, i.partner_invoice_id, coalesce(i.invoice_level, 'unknown') as invoice_level,
    l.tenant, i.tenant_id, i.partner_tenant_id, i.partner_id,
    i.state, i.reason_code, i.reason, i.state_since, i.service_status,
    try_cast(left(i.invoice_start_date, 10) as date) as invoice_start_date,
    try_cast(left(i.invoice_end_date, 10) as date) as invoice_end_date,
    try_cast(left(i.invoice_date, 10) as date) as invoice_date,
    try_cast(left(i.invoice_due_date, 10) as date) as invoice_due_date,
    coalesce(i.currency_code, l.currency_code) as currency_code,
    try_cast(i.stated_total as decimal(18, 4)) as stated_total_amount,
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
    i.first_heard_at, i.created_at, i.finalized_at, i.first_loaded_at, i.loaded_at, i.voided_at,
    i.attention_at, i.resolved_at
from invoice_state as i
left join loads as l on l.load_id = i.current_load_id
left join (
    select invoice_id, count(*) as discrepancies, string_agg(distinct rule, ', ' order by rule) as rules
    from discrepancy_lines
    group by invoice_id
) as d on d.invoice_id = i.invoice_id;

create view events as
select
    e.event_id, received_at, verdict, reason, event_type, event_timestamp, partner_id, is_test_event,
    invoice_id, invoice_number, tenant_id, partner_tenant_id, invoice_status, currency_code,
    try_cast(stated_total as decimal(18, 4)) as stated_total_amount, stated_shipments,
    announced_sha256, announced_size_bytes, announced_url, url_expires_at,
    coalesce(d.duplicates, 0) as duplicates
from event_ledger as e
left join (select event_id, count(*) as duplicates from duplicate_ledger group by event_id) as d
    on d.event_id = e.event_id;

-- A row per file and invoice it came for: where it was had from, and what became of it.
create view files as
select
    coalesce(f.file_sha256, l.file_sha256) as file_sha256,
    coalesce(f.invoice_id, l.invoice_id) as invoice_id,
    coalesce(f.file_size_bytes, l.file_size_bytes) as file_size_bytes,
    coalesce(f.file_source, l.file_source) as file_source,
    f.came_from,
    coalesce(f.first_had_at, l.loaded_at) as first_had_at,
    coalesce(f.times_had, 0) as times_had,
    l.load_id, l.version, l.shipments, l.billing_cost, l.currency_code, l.loaded_at,
    coalesce(i.current_load_id = l.load_id, false) as is_current
from (
    select file_sha256, invoice_id, any_value(file_size_bytes) as file_size_bytes,
        arg_min(file_source, noted_at) as file_source, arg_min(came_from, noted_at) as came_from,
        min(noted_at) as first_had_at, count(*) as times_had
    from file_ledger
    group by file_sha256, invoice_id
) as f
full join loads as l on l.file_sha256 = f.file_sha256 and l.invoice_id = f.invoice_id
left join invoice_state as i on i.invoice_id = coalesce(f.invoice_id, l.invoice_id);

create view publication as
select sequence, published_at, invoices, loaded_invoices, shipments, events, last_load_id, last_event_received_at
from publication_log
where sequence = (select max(sequence) from publication_log);
