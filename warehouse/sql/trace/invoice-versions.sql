select
    l.load_id, l.version, l.file_sha256, l.file_source, l.shipments::double as shipments,
    l.billing_cost::varchar as billing_cost, l.currency_code, iso(l.loaded_at) as loaded_at,
    coalesce(i.current_load_id = l.load_id, false) as is_current
from loads as l
left join invoice_state as i on i.invoice_id = l.invoice_id
where l.invoice_id = $invoice_id::uuid
order by l.version
