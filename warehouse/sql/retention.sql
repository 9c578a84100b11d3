-- name: removable-files
-- Files that no report as known from $before on needs (ADR 20): of invoices that were void, of replaced versions, and files that were
-- never loaded; none of an invoice in progress. The newest load remains, so that no load id is used twice.
with had as (
    select file_sha256, invoice_id, max(recorded_at) as had_at, any_value(file_size_bytes) as file_size_bytes
    from file_ledger
    group by file_sha256, invoice_id
),
known as (
    select
        coalesce(h.file_sha256, l.file_sha256) as file_sha256, coalesce(h.invoice_id, l.invoice_id) as invoice_id,
        coalesce(h.file_size_bytes, l.file_size_bytes) as file_size_bytes,
        greatest(coalesce(h.had_at, l.loaded_at), coalesce(l.loaded_at, h.had_at)) as touched_at,
        l.load_id, l.shipments, l.billing_cost, l.currency_code
    from had as h
    full join loads as l on l.file_sha256 = h.file_sha256 and l.invoice_id = h.invoice_id
),
settled as (
    select
        k.*, i.invoice_number, i.tenant_id, i.partner_tenant_id,
        case when k.load_id is null then 'never-loaded' when i.state = 'voided' then 'voided' else 'replaced' end as why,
        case
            when k.touched_at >= $before::timestamp or i.state_since >= $before::timestamp and k.load_id is null then false
            -- Announced or chosen since: totals may have included it.
            when exists (
                from event_ledger as e
                where e.invoice_id = k.invoice_id and e.announced_sha256 = k.file_sha256 and e.received_at >= $before::timestamp
            ) or exists (
                from attention_ledger as c
                where c.invoice_id = k.invoice_id and c.file_sha256 = k.file_sha256 and c.recorded_at >= $before::timestamp
            ) then false
            when i.state = 'voided' then
                i.voided_at < $before::timestamp and k.load_id is distinct from (select max(load_id) from loads)
            when i.state <> 'loaded' then false
            when k.load_id is null then true
            else k.load_id not in (select load_id from counting_spans() where until is null or until > $before::timestamp)
        end as is_removable
    from known as k
    join invoice_state as i on i.invoice_id = k.invoice_id
)
select
    file_sha256 as sha256, invoice_id::varchar as invoice_id, invoice_number, tenant_id, partner_tenant_id,
    file_size_bytes::double as size_bytes, shipments::double as shipments, billing_cost::varchar as billing_cost, currency_code, why
from settled
qualify bool_and(coalesce(is_removable, false)) over (partition by file_sha256)
order by invoice_id, load_id, file_sha256
