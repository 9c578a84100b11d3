-- Fills an empty warehouse with getvariable('shipments') rows that look like two years of parcel invoices: 40 tenants
-- of very different size, weekly invoices, four carriers, a price for each service, zone and weight rounded up to a pound, with a
-- general increase in January, surcharges, credits, numbers billed twice, spellings of zones, cells left empty, voids,
-- and one month that the partner was billed for as well. The same every time.
create temp macro roll(n, salt) as (hash(n * 64 + salt) % 1000000)::integer;
create temp macro pick(n, salt, list) as list_extract(list, 1 + roll(n, salt) % len(list));

create temp table drawn as
select
    n,
    least((40 * pow(roll(n, 1) / 1e6, 2))::integer, 39) as tenant_no,
    cast(roll(n, 2) * 104 // 1000000 as integer) as week,
    roll(n, 3) % 7 as day,
    1 + (70 * pow(roll(n, 4) / 1e6, 3))::integer as lb,
    2 + roll(n, 5) % 7 as zone_no,
    roll(n, 6) as fault,
    pick(n, 7, ['UPS', 'UPS', 'UPS', 'FedEx', 'FedEx', 'USPS', 'DHL']) as carrier,
    pick(n, 8, ['Ground', 'Ground', 'Ground', '2nd Day Air', 'Next Day Air']) as service
from range(getvariable('shipments')) as r(n);

create temp table billed as
select
    tenant_no,
    week,
    'tenant' as level,
    row_number() over (order by week, tenant_no) as load_id,
    cast(md5('tenant ' || tenant_no || ' week ' || week) as uuid) as invoice_id,
    date '2024-07-01' + 7 * week as start
from (select distinct tenant_no, week from drawn)
union all
select null, week, 'partner', 100000 + week, cast(md5('partner week ' || week) as uuid), date '2024-07-01' + 7 * week
from (select unnest([96, 97, 98, 99]) as week);

create temp table priced as
select
    d.*,
    date '2024-07-01' + 7 * week + day as ship_date,
    (6 + zone_no * 0.75 + lb * (0.31 + 0.04 * zone_no))
    * case service when 'Ground' then 1 when '2nd Day Air' then 2.15 else 3.4 end
    * case carrier when 'UPS' then 1 when 'FedEx' then 1.04 when 'USPS' then 0.86 else 1.21 end
    * case when week >= 79 then 1.1151 when week >= 27 then 1.059 else 1 end as price
from drawn as d;

insert into shipment_rows (
    load_id, row_number, tenant, invoice_generation_date, ship_date, origin, currency_code, billing_cost, billable_weight,
    billable_weight_unit, tracking_number, carrier, carrier_zone, carrier_invoice_date, service_level
)
select
    b.load_id,
    row_number() over (partition by b.load_id order by p.n),
    case when b.level = 'partner' then 'The partner' else 'Tenant ' || lpad((p.tenant_no + 1)::varchar, 2, '0') end,
    b.start + 9,
    p.ship_date,
    case when p.fault % 100 > 1 then lpad((roll(p.tenant_no, 9) % 99999)::varchar, 5, '0') end,
    case when p.tenant_no % 10 = 9 then 'EUR' else 'USD' end,
    case
        when p.fault < 8000 then -round(p.price, 2)
        when p.fault < 60000 then round(p.price, 2) + 4.5
        else round(p.price, 2)
    end,
    case when p.fault % 50 > 0 then case when p.tenant_no % 10 = 9 then round(p.lb * 0.4535, 3) else p.lb end end,
    case when p.fault % 50 > 0 then case when p.tenant_no % 10 = 9 then 'KG' else 'LB' end end,
    '1Z' || lpad((case when p.fault % 1000 = 7 then p.n - p.n % 2000 else p.n end)::varchar, 12, '0'),
    p.carrier,
    case
        when p.fault % 70 = 0 then null
        when p.carrier = 'FedEx' then 'Zone ' || p.zone_no
        when p.carrier = 'DHL' then '0' || p.zone_no
        else p.zone_no::varchar
    end,
    case when p.fault % 30 > 0 then p.ship_date + 2 + p.fault % 6 end,
    case when p.fault % 200 > 0 then p.service end
from priced as p
join billed as b on b.week = p.week and (b.tenant_no = p.tenant_no or b.level = 'partner')
order by b.load_id, p.n;

insert into loads by name
select
    r.load_id, any_value(b.invoice_id) as invoice_id, 1 as version, md5(r.load_id::varchar) || md5('file') as file_sha256,
    count(*) * 120 as file_size_bytes, 'event' as file_source, md5(r.load_id::varchar) || md5('file') as announced_sha256,
    any_value(r.tenant) as tenant, count(*) as shipments,
    -- The partner is billed in dollars and euros; what its load notes is the dollars.
    sum(r.billing_cost) filter (where b.level = 'tenant' or r.currency_code = 'USD') as billing_cost,
    max(r.currency_code) as currency_code, string_agg(distinct r.currency_code, ',' order by r.currency_code) as currencies,
    min(r.ship_date) as first_ship_date, max(r.ship_date) as last_ship_date, true as ends_with_line_end,
    any_value(b.start + interval 10 day) as loaded_at
from shipment_rows as r
join billed as b on b.load_id = r.load_id
group by r.load_id
order by r.load_id;

insert into invoice_state by name
select
    l.invoice_id, case when l.load_id % 97 = 5 then 'voided' else 'loaded' end as state,
    case when l.load_id % 97 = 5 then l.loaded_at + interval 20 day else l.loaded_at end as state_since,
    case when l.load_id % 97 = 5 then 'voided' else 'finalized' end as service_status,
    l.load_id as current_load_id, 'hash' as proof, b.level as invoice_level,
    'tenant-' || b.tenant_no as tenant_id, 'T' || b.tenant_no as partner_tenant_id,
    'INV-' || lpad(l.load_id::varchar, 6, '0') as invoice_number,
    b.start::varchar as invoice_start_date, (b.start + 6)::varchar as invoice_end_date,
    (b.start + 9)::varchar as invoice_date, (b.start + 24)::varchar as invoice_due_date,
    l.currency_code, l.billing_cost::varchar as stated_total, l.shipments as stated_shipments,
    l.loaded_at - interval 1 day as first_seen_at, l.loaded_at - interval 1 day as created_at,
    l.loaded_at as finalized_at, l.loaded_at as first_loaded_at, l.loaded_at,
    case when l.load_id % 97 = 5 then l.loaded_at + interval 20 day end as voided_at, 1 as versions, 1 as last_version,
    case when l.load_id % 97 = 5 then l.loaded_at + interval 20 day else l.loaded_at end as counts_since,
    case when l.load_id % 97 = 5 then json_array(json_object(
        'load_id', l.load_id, 'voided_at', null, 'since', l.loaded_at, 'until', l.loaded_at + interval 20 day
    ))::varchar end as past_counts
from loads as l
join billed as b on b.load_id = l.load_id;

insert into event_ledger by name
select
    md5('event ' || invoice_id)::uuid::varchar as event_id, finalized_at as received_at, 'accepted' as verdict,
    'invoice.finalized' as event_type, finalized_at as event_timestamp, false as is_test_event, invoice_id,
    invoice_level, tenant_id, partner_tenant_id, invoice_number, currency_code, stated_total, stated_shipments
from invoice_state;

insert into invoice_keys select invoice_id from invoice_state;
insert into event_keys select left(sha256(event_id), 32)::uuid from event_ledger;

insert into publication_log by name
select
    1 as sequence, timestamp '2026-07-05 06:00:00' as published_at, count(*) as invoices,
    count(*) filter (where state = 'loaded') as loaded_invoices, (select count(*) from shipments) as shipments,
    (select count(*) from event_ledger) as events
from invoice_state
