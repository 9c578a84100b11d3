-- name: fingerprint-file
select
    count(*)::integer as rows,
    coalesce(sum(billing_cost) filter (where currency_code = $currency_code), 0)::decimal(38, 4)::varchar as billing_cost,
    coalesce(string_agg(distinct currency_code, ',' order by currency_code), '') as currencies,
    min(ship_date)::varchar as first_ship_date, max(ship_date)::varchar as last_ship_date,
    coalesce(sum(hash(row_number, {{cells}})::hugeint), 0)::varchar as fingerprint,
    count(*) filter (where not row_is_good)::integer as bad_rows
from (
    select (row_number() over ())::integer as row_number, *
    from checked_csv([$csv_path], $invoice_id)
)

-- name: fingerprint-rows
-- The same expression as in fingerprint-file; with added columns that of fingerprint-tolerated.
select
    count(*)::integer as rows,
    coalesce(sum(billing_cost) filter (where currency_code = $currency_code), 0)::decimal(38, 4)::varchar as billing_cost,
    coalesce(string_agg(distinct currency_code, ',' order by currency_code), '') as currencies,
    min(ship_date)::varchar as first_ship_date, max(ship_date)::varchar as last_ship_date,
    (coalesce(sum(hash(row_number, {{cells}})::hugeint), 0)
        + coalesce(sum(hash(row_number, added_columns)::hugeint) filter (where added_columns is not null), 0))::varchar
        as fingerprint
from shipment_rows
where load_id = $load_id::integer

-- name: fingerprint-tolerated
select
    count(*)::integer as rows,
    coalesce(sum(billing_cost) filter (where currency_code = $currency_code), 0)::decimal(38, 4)::varchar as billing_cost,
    coalesce(string_agg(distinct currency_code, ',' order by currency_code), '') as currencies,
    min(ship_date)::varchar as first_ship_date, max(ship_date)::varchar as last_ship_date,
    (coalesce(sum(hash(row_number, {{cells}})::hugeint), 0)
        + coalesce(sum(hash(row_number, added_columns)::hugeint) filter (where added_columns is not null), 0))::varchar
        as fingerprint,
    0 as bad_rows
from numbered_chunks(0, $folder, $chunks::integer, $invoice_id, tolerated_columns())

-- name: loads-to-verify
select
    l.load_id, l.invoice_id::varchar as invoice_id, l.file_sha256,
    l.shipments::double as shipments, l.billing_cost::varchar as billing_cost, l.currency_code, l.currencies,
    l.first_ship_date::varchar as first_ship_date, l.last_ship_date::varchar as last_ship_date,
    i.current_load_id = l.load_id as is_current, i.voided_at is not null as is_voided
from loads as l
left join invoice_state as i on i.invoice_id = l.invoice_id
where $full::boolean or l.load_id not in (select load_id from verification_log)
order by l.load_id

-- name: mark-verified
-- Once per load, so that repeated verifications do not grow the file.
insert into verification_log
select load_id, $verified_at::timestamp
from (select unnest($load_ids::integer[]) as load_id)
where load_id not in (select load_id from verification_log)

-- name: rows-of-loads
-- Rows exist once under the id of their load, and the load counts them.
with stored as (select load_id, count(*) as n from shipment_rows group by load_id)
select
    case when l.load_id is null then 'orphan-rows' else 'rows' end as rule, coalesce(l.load_id, s.load_id) as load_id,
    coalesce(l.invoice_id::varchar, '') as invoice_id, coalesce(l.shipments, 0)::varchar as expected, coalesce(s.n, 0)::varchar as found
from loads as l
full join stored as s on s.load_id = l.load_id
where coalesce(l.shipments, 0) <> coalesce(s.n, 0)
union all
select 'orphan-load', l.load_id, l.invoice_id::varchar, 'an invoice', 'none'
from loads as l
anti join invoice_state as i on i.invoice_id = l.invoice_id
union all
select 'doubled-load', load_id, min(invoice_id)::varchar, '1', count(*)::varchar
from loads
group by load_id
having count(*) > 1
order by load_id, rule

-- name: read-states
select
    invoice_id::varchar as invoice_id, state, reason_code, reason, iso(state_since) as state_since, service_status, current_load_id, proof, partner_id,
    partner_invoice_id, invoice_level, tenant_id, partner_tenant_id, invoice_number, invoice_start_date, invoice_end_date,
    invoice_date, invoice_due_date, currency_code, stated_total, stated_shipments::double as stated_shipments, event_id,
    iso(first_seen_at) as first_seen_at, iso(created_at) as created_at, iso(finalized_at) as finalized_at,
    iso(first_loaded_at) as first_loaded_at, iso(loaded_at) as loaded_at, iso(voided_at) as voided_at,
    iso(attention_at) as attention_at, iso(resolved_at) as resolved_at, versions, attention_lines, void_basis,
    iso(restored_at) as restored_at, last_version, iso(counts_since) as counts_since, past_counts
from invoice_state
order by invoice_id
