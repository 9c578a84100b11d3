-- The history of one invoice: deliveries, files, loads, and changes of state.
select received_at as happened_at, 'delivery' as kind,
    coalesce(event_type, 'delivery') || case when is_test_event then ' (test)' else '' end
        || case when verdict = 'accepted' then '' else ', ' || verdict || coalesce(': ' || reason, '') end
        || case when duplicates > 0 then ', ' || duplicates || ' more times' else '' end as what,
    event_id as reference
from events where cast(invoice_id as varchar) = $invoice
union all
select first_had_at, 'file', 'file of ' || file_size_bytes || ' bytes from ' || file_source
    || case when times_had > 1 then ', had ' || times_had || ' times' else '' end, file_sha256
from files where cast(invoice_id as varchar) = $invoice
union all
select loaded_at, 'load', 'version ' || version || ' loaded: ' || shipments || ' shipments, ' || billing_cost || ' '
    || coalesce(currency_code, '') || case when is_current then ' (current)' else '' end, file_sha256
from files where cast(invoice_id as varchar) = $invoice and loaded_at is not null
union all
select attention_at, 'attention', 'a person was asked for' || coalesce(': ' || reason, ''), reason_code
from invoices where cast(invoice_id as varchar) = $invoice and attention_at is not null
union all
select resolved_at, 'attention', 'taken up again', null
from invoices where cast(invoice_id as varchar) = $invoice and resolved_at is not null
union all
select voided_at, 'state', 'voided', null
from invoices where cast(invoice_id as varchar) = $invoice and voided_at is not null
union all
select restored_at, 'state', 'a person undid a void', null
from invoices where cast(invoice_id as varchar) = $invoice and restored_at is not null
order by happened_at, kind, what
