-- A row per received event, test events and refused deliveries included; repeated deliveries are counted.
create or replace view events as
select
    e.event_id, received_at at time zone 'UTC' as received_at, verdict, reason, event_type,
    event_timestamp at time zone 'UTC' as event_timestamp, partner_id, is_test_event,
    invoice_id, invoice_number, tenant_id, partner_tenant_id, invoice_status, currency_code,
    try_cast(stated_total as decimal(30, 4))::decimal(38, 4) as stated_total_amount, stated_shipments,
    announced_sha256, announced_size_bytes, announced_url, url_expires_at at time zone 'UTC' as url_expires_at,
    coalesce(d.duplicates, 0) as duplicates
from internal.event_ledger as e
left join (select event_id, count(*) as duplicates from internal.duplicate_ledger group by event_id) as d
    on d.event_id = e.event_id;
