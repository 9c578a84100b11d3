-- name: explain-tracking
-- In all versions and voided invoices. The event is the one that announced the hash of the file (or of the file as HTTP encoded it),
-- else the one that led to the load.
with announcements as (
    select invoice_id, announced_sha256, arg_min(event_id, received_at) as event_id
    from event_ledger
    where verdict = 'accepted' and announced_sha256 is not null
    group by invoice_id, announced_sha256
)
select
    v.invoice_id::varchar as invoice_id, v.invoice_number, v.tenant, v.carrier, v.ship_date::varchar as ship_date,
    v.billing_cost::varchar as billing_cost, v.currency_code, v.row_number, v.version, v.is_current,
    v.file_sha256 as sha256, l.file_size_bytes::double as size_bytes, l.file_source as source, f.came_from,
    iso(f.first_had_at) as file_had_at, iso(l.loaded_at) as loaded_at,
    n.event_id, iso(n.event_timestamp) as event_timestamp, iso(n.received_at) as event_received_at,
    n.announced_sha256 as event_sha256, l.encoded_sha256,
    case
        when h.load_id is not null or (l.announced_sha256 = l.file_sha256 and l.file_source <> 'event') then 'regenerate'
        when coalesce(e.event_id, c.event_id) is not null or l.announced_sha256 = l.file_sha256 then 'event'
    end as hash_from,
    l.workflow_run_id, i.state, iso(i.voided_at) as voided_at,
    case hash_from when 'regenerate' then 'hash' when 'event' then 'announced' else case
        when l.is_damaged then 'accepted' when i.proof = 'header' and v.is_current then 'header' else 'unproved' end end as proof
from shipment_versions as v
join loads as l on l.load_id = v.load_id
join invoice_state as i on i.invoice_id = v.invoice_id
left join files as f on f.file_sha256 = v.file_sha256 and f.invoice_id = v.invoice_id
left join announcements as e on e.invoice_id = v.invoice_id and e.announced_sha256 = v.file_sha256
left join announcements as c on c.invoice_id = v.invoice_id and c.announced_sha256 = l.encoded_sha256
left join (
    select distinct load_id
    from loads as o
    join attention_ledger as a on a.kind = 'hash' and a.invoice_id = o.invoice_id and a.file_sha256 in (o.file_sha256, o.encoded_sha256)
) as h on h.load_id = v.load_id
left join event_ledger as n on n.event_id = coalesce(e.event_id, c.event_id, l.event_id)
where v.tracking_number = $tracking_number
order by v.is_current desc, v.invoice_id, v.version desc, v.row_number
limit 1000

-- name: invoice-versions
select
    l.load_id, l.version, l.file_sha256 as sha256, l.file_source as source, l.shipments::double as shipments,
    l.billing_cost::varchar as billing_cost, l.currency_code, iso(l.loaded_at) as loaded_at,
    coalesce(i.current_load_id = l.load_id, false) as is_current
from loads as l
left join invoice_state as i on i.invoice_id = l.invoice_id
where l.invoice_id = $invoice_id::uuid
order by l.version

-- name: version-diff
-- Equal rows are paired one to one, so that a doubled row is reported as added. Added columns are not compared.
with both_versions as (
    select * exclude (row_number, added_columns),
        row(*columns(* exclude (load_id, row_number, added_columns, billing_cost))) as all_but_cost
    from shipment_rows
    where load_id in ($from_load::integer, $to_load::integer)
),
old as (
    select * exclude (load_id) from both_versions where load_id = $from_load::integer
),
new as (
    select * exclude (load_id) from both_versions where load_id = $to_load::integer
),
removed as (
    select *, row_number() over (partition by all_but_cost order by billing_cost) as nth
    from (from old except all from new)
),
added as (
    select *, row_number() over (partition by all_but_cost order by billing_cost) as nth
    from (from new except all from old)
)
select
    case when r.tracking_number is null then 'added' when a.tracking_number is null then 'removed' else 'changed' end as change,
    coalesce(a.tracking_number, r.tracking_number) as tracking_number,
    coalesce(a.ship_date, r.ship_date)::varchar as ship_date,
    coalesce(a.carrier, r.carrier) as carrier,
    coalesce(a.service_level, r.service_level) as service_level,
    coalesce(a.currency_code, r.currency_code) as currency_code,
    r.billing_cost::varchar as old_billing_cost,
    a.billing_cost::varchar as new_billing_cost
from removed as r
full join added as a on a.nth = r.nth and a.all_but_cost is not distinct from r.all_but_cost
order by change, tracking_number, ship_date, old_billing_cost, new_billing_cost
