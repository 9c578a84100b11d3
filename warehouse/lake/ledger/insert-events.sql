-- Takes a batch of archived events into the ledger. A delivery that was refused and later accepted becomes accepted;
-- nothing else changes a known event.
insert into event_ledger
select * from json_populate_recordset(null::event_ledger, $events::json)
on conflict (event_id) do update set
    received_at = excluded.received_at, verdict = excluded.verdict, reason = excluded.reason, event_type = excluded.event_type,
    event_timestamp = excluded.event_timestamp, partner_id = excluded.partner_id, is_test_event = excluded.is_test_event,
    invoice_id = excluded.invoice_id, partner_invoice_id = excluded.partner_invoice_id, invoice_level = excluded.invoice_level,
    tenant_id = excluded.tenant_id, partner_tenant_id = excluded.partner_tenant_id, invoice_number = excluded.invoice_number,
    invoice_status = excluded.invoice_status, invoice_start_date = excluded.invoice_start_date,
    invoice_end_date = excluded.invoice_end_date, invoice_date = excluded.invoice_date,
    invoice_due_date = excluded.invoice_due_date, currency_code = excluded.currency_code, stated_total = excluded.stated_total,
    stated_shipments = excluded.stated_shipments, announced_sha256 = excluded.announced_sha256,
    announced_size_bytes = excluded.announced_size_bytes, announced_url = excluded.announced_url,
    url_expires_at = excluded.url_expires_at
where event_ledger.verdict = 'quarantined' and excluded.verdict <> 'quarantined'
returning event_id, invoice_id::text as invoice_id
