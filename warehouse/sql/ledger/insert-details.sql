-- What the details endpoint answered, from a batch of facts.
insert into details_ledger
select
    recorded_at::timestamp, invoice_id::uuid, partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number,
    invoice_status, invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total,
    stated_shipments
from (select unnest(from_json($facts::json, '[{
    "recorded_at": "VARCHAR", "invoice_id": "VARCHAR", "partner_invoice_id": "VARCHAR", "invoice_level": "VARCHAR",
    "tenant_id": "VARCHAR", "partner_tenant_id": "VARCHAR", "invoice_number": "VARCHAR", "invoice_status": "VARCHAR",
    "invoice_start_date": "VARCHAR", "invoice_end_date": "VARCHAR", "invoice_date": "VARCHAR", "invoice_due_date": "VARCHAR",
    "currency_code": "VARCHAR", "stated_total": "VARCHAR", "stated_shipments": "BIGINT"}]'), recursive := true))
