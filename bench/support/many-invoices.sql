-- Fills an empty warehouse with getvariable('invoices') loaded invoices of getvariable('rows') rows each, weekly ones of 200
-- tenants, or of more where that would be over 300 weeks, finalized by an event. No tracking number repeats, and they come in no
-- order: the factor is prime to the modulus. The same every time.
create temp table billed as
select
    (n + 1)::integer as load_id,
    cast(md5('invoice ' || n) as uuid) as invoice_id,
    n % tenants as tenant_no,
    date '2020-01-06' + (7 * (n // tenants))::integer as start
from range(getvariable('invoices')) as r(n), (select greatest(200, getvariable('invoices') // 300) as tenants);

insert into shipment_rows by name
select
    b.load_id, (k + 1)::integer as row_number, 'Tenant ' || b.tenant_no as tenant, b.start + 9 as invoice_generation_date,
    b.start + (k % 7)::integer as ship_date, '94107' as origin, 'USD' as currency_code,
    (500 + hash(b.load_id, k) % 9000) / 100 as billing_cost, 1 + hash(k, b.load_id) % 20 as billable_weight,
    'LB' as billable_weight_unit,
    '1Z' || lpad(((b.load_id::hugeint * 100000 + k) * 61803398874989 % 100000000000000)::varchar, 14, '0') as tracking_number,
    'UPS' as carrier, (2 + k % 7)::varchar as carrier_zone, b.start + 8 as carrier_invoice_date, 'Ground' as service_level
from billed as b, range(getvariable('rows')) as s(k)
order by b.load_id, k;

insert into loads by name
select
    r.load_id, any_value(b.invoice_id) as invoice_id, 1 as version, md5(r.load_id::varchar) || md5('file') as file_sha256,
    count(*) * 120 as file_size_bytes, 'event' as file_source, md5(r.load_id::varchar) || md5('file') as announced_sha256,
    any_value(r.tenant) as tenant, count(*) as shipments, sum(r.billing_cost) as billing_cost,
    'USD' as currency_code, 'USD' as currencies, min(r.ship_date) as first_ship_date, max(r.ship_date) as last_ship_date,
    true as ends_with_line_end, any_value(b.start + interval 10 day) as loaded_at
from shipment_rows as r
join billed as b on b.load_id = r.load_id
group by r.load_id
order by r.load_id;

insert into invoice_state by name
select
    l.invoice_id, 'loaded' as state, l.loaded_at as state_since, 'finalized' as service_status, l.load_id as current_load_id,
    'hash' as proof, 'tenant' as invoice_level, 'partner-1' as partner_id, 'tenant-' || b.tenant_no as tenant_id,
    'T' || b.tenant_no as partner_tenant_id, 'INV-' || lpad(l.load_id::varchar, 7, '0') as invoice_number,
    b.start::varchar as invoice_start_date, (b.start + 6)::varchar as invoice_end_date,
    (b.start + 9)::varchar as invoice_date, (b.start + 24)::varchar as invoice_due_date, 'USD' as currency_code,
    l.billing_cost::varchar as stated_total, l.shipments as stated_shipments, l.loaded_at - interval 1 day as first_heard_at,
    l.loaded_at - interval 1 day as created_at, l.loaded_at as finalized_at, l.loaded_at as first_loaded_at, l.loaded_at,
    1 as versions
from loads as l
join billed as b on b.load_id = l.load_id
order by l.load_id;

insert into event_ledger by name
select
    md5('event ' || invoice_id)::uuid::varchar as event_id, finalized_at as received_at, 'accepted' as verdict,
    'invoice_finalized' as event_type, finalized_at as event_timestamp, false as is_test_event, invoice_id, partner_id,
    invoice_level, tenant_id, partner_tenant_id, invoice_number, currency_code, stated_total, stated_shipments
from invoice_state
order by received_at;

insert into invoice_keys select invoice_id from invoice_state;
insert into event_keys select left(sha256(event_id), 32)::uuid from event_ledger;

insert into publication_log by name
select
    1 as sequence, timestamp '2026-01-01 06:00:00' as published_at, count(*) as invoices, count(*) as loaded_invoices,
    (select count(*) from shipment_rows) as shipments, count(*) as events, (select max(load_id) from loads) as last_load_id,
    (select max(received_at) from event_ledger) as last_event_received_at
from invoice_state
