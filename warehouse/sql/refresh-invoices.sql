-- Makes the rows of invoice_state from the ledgers, whole, for the invoices given. There is no other writer of that
-- table, so its rows depend on what is in the ledgers and not on the order in which it came.
insert into invoice_state
with ids as (
    select distinct unnest($invoice_ids::uuid[]) as invoice_id
),
evidence as (
    select
        e.*,
        row(header_rank, is_event, stamp, coalesce(event_id, '')) as header_order,
        row(rank, stamp, coalesce(event_id, '')) as status_order
    from invoice_evidence as e
    semi join ids on ids.invoice_id = e.invoice_id
),
header as (
    select
        invoice_id,
        max(rank) as rank,
        arg_max(service_status, status_order) filter (where service_status is not null) as service_status,
        arg_max(event_id, status_order) filter (where event_id is not null) as event_id,
        arg_max(partner_id, header_order) filter (where partner_id is not null) as partner_id,
        arg_max(partner_invoice_id, header_order) filter (where partner_invoice_id is not null) as partner_invoice_id,
        arg_max(invoice_level, header_order) filter (where invoice_level is not null) as invoice_level,
        arg_max(tenant_id, header_order) filter (where tenant_id is not null) as tenant_id,
        arg_max(partner_tenant_id, header_order) filter (where partner_tenant_id is not null) as partner_tenant_id,
        arg_max(invoice_number, header_order) filter (where invoice_number is not null) as invoice_number,
        arg_max(invoice_start_date, header_order) filter (where invoice_start_date is not null) as invoice_start_date,
        arg_max(invoice_end_date, header_order) filter (where invoice_end_date is not null) as invoice_end_date,
        arg_max(invoice_date, header_order) filter (where invoice_date is not null) as invoice_date,
        arg_max(invoice_due_date, header_order) filter (where invoice_due_date is not null) as invoice_due_date,
        arg_max(currency_code, header_order) filter (where currency_code is not null) as currency_code,
        arg_max(stated_total, header_order) filter (where stated_total is not null) as stated_total,
        arg_max(stated_shipments, header_order) filter (where stated_shipments is not null) as stated_shipments,
        min(noted_at) as first_heard_at,
        min(noted_at) filter (where rank = 1) as created_at,
        min(noted_at) filter (where rank = 2) as finalized_at,
        min(noted_at) filter (where rank = 3) as voided_at
    from evidence
    group by invoice_id
),
announced as (
    select distinct invoice_id, announced_sha256
    from evidence
    where announced_sha256 is not null
),
versions as (
    select l.invoice_id, count(*) as versions, min(loaded_at) as first_loaded_at
    from loads as l
    semi join ids on ids.invoice_id = l.invoice_id
    group by l.invoice_id
),
current as (
    select
        l.invoice_id, l.load_id, l.loaded_at, l.shipments, l.billing_cost, l.currencies,
        coalesce(l.announced_sha256 = l.file_sha256, false) or a.announced_sha256 is not null as was_announced
    from current_loads_as_known_on(timestamp '9999-12-31') as c
    join loads as l on l.load_id = c.load_id
    semi join ids on ids.invoice_id = c.invoice_id
    left join announced as a on a.invoice_id = l.invoice_id and a.announced_sha256 = l.file_sha256
),
attention as (
    select
        a.invoice_id,
        min(noted_at) as first_at,
        max(noted_at) filter (where is_open) as attention_at,
        max(noted_at) filter (where not is_open) as resolved_at,
        arg_max(code, row(noted_at, code)) filter (where is_open) as code,
        arg_max(reason, row(noted_at, code)) filter (where is_open) as reason
    from attention_ledger as a
    semi join ids on ids.invoice_id = a.invoice_id
    group by a.invoice_id
),
joined as (
    select
        ids.invoice_id, h.* exclude (invoice_id), c.load_id, c.loaded_at, c.shipments, c.billing_cost, c.currencies,
        c.was_announced, v.versions, v.first_loaded_at, a.first_at as attention_first_at, a.attention_at, a.resolved_at, a.code,
        a.reason as attention_reason,
        -- A load that came after ends the need for a person as well as an answer does.
        a.attention_at is not null
            and a.attention_at > coalesce(a.resolved_at, timestamp '0001-01-01')
            and a.attention_at > coalesce(c.loaded_at, timestamp '0001-01-01') as needs_attention
    from ids
    left join header as h on h.invoice_id = ids.invoice_id
    left join current as c on c.invoice_id = ids.invoice_id
    left join versions as v on v.invoice_id = ids.invoice_id
    left join attention as a on a.invoice_id = ids.invoice_id
    where h.invoice_id is not null or c.invoice_id is not null or a.invoice_id is not null
)
select
    invoice_id,
    case when voided_at is not null then 'voided' when needs_attention then 'needs_attention'
        when load_id is not null then 'loaded' when rank = 2 then 'finalized' else 'draft' end as state,
    case when voided_at is null and needs_attention then code end as reason_code,
    case when voided_at is null and needs_attention then attention_reason end as reason,
    case when voided_at is not null then voided_at when needs_attention then attention_at
        when load_id is not null then loaded_at when rank = 2 then finalized_at
        else coalesce(created_at, first_heard_at, attention_first_at) end as state_since,
    service_status,
    load_id as current_load_id,
    case when load_id is null then null
        when was_announced then 'hash'
        when stated_shipments = shipments and try_cast(stated_total as decimal(38, 12)) = billing_cost::decimal(38, 12)
            and (currency_code is null or currency_code = currencies) then 'header'
        else 'unproved' end as proof,
    partner_id, partner_invoice_id, invoice_level,
    case when invoice_level is distinct from 'partner' then tenant_id end as tenant_id,
    case when invoice_level is distinct from 'partner' then partner_tenant_id end as partner_tenant_id,
    invoice_number,
    invoice_start_date, invoice_end_date, invoice_date, invoice_due_date, currency_code, stated_total, stated_shipments,
    event_id,
    least(first_heard_at, attention_first_at, first_loaded_at) as first_heard_at,
    created_at, finalized_at, first_loaded_at, loaded_at, voided_at, attention_at, resolved_at,
    coalesce(versions, 0) as versions
from joined
on conflict (invoice_id) do update set
    state = excluded.state, reason_code = excluded.reason_code, reason = excluded.reason, state_since = excluded.state_since,
    service_status = excluded.service_status, current_load_id = excluded.current_load_id, proof = excluded.proof,
    partner_id = excluded.partner_id, partner_invoice_id = excluded.partner_invoice_id,
    invoice_level = excluded.invoice_level, tenant_id = excluded.tenant_id, partner_tenant_id = excluded.partner_tenant_id,
    invoice_number = excluded.invoice_number, invoice_start_date = excluded.invoice_start_date,
    invoice_end_date = excluded.invoice_end_date, invoice_date = excluded.invoice_date,
    invoice_due_date = excluded.invoice_due_date, currency_code = excluded.currency_code,
    stated_total = excluded.stated_total, stated_shipments = excluded.stated_shipments, event_id = excluded.event_id,
    first_heard_at = excluded.first_heard_at, created_at = excluded.created_at, finalized_at = excluded.finalized_at,
    first_loaded_at = excluded.first_loaded_at, loaded_at = excluded.loaded_at, voided_at = excluded.voided_at,
    attention_at = excluded.attention_at, resolved_at = excluded.resolved_at, versions = excluded.versions
