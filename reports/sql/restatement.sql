-- title: Restatement between two dates
-- purpose: Change, 4
-- grain: invoice, currency
-- params: $first instant: the earlier instant (a date is its end, in UTC); without it, 30 days before the later one
--   $second instant: the later instant; without it, that of --as-known-on or the publication
-- means: Invoices whose lines within the filters differ between two instants. `cause` is "loaded" (none of its files
--   counted before), "voided" (none counts now) or "new file" (another version). `difference` is `cost_second` less
--   `cost_first`.
-- order: currency; greatest difference first, whatever its sign; invoice_number
-- limits: Nothing is known from before the first load. Names and levels of tenants are today's at both instants.
-- detail: invoice_id
-- chart: bar key=invoice_number+tenant value=difference
-- drilldown: invoice by invoice_id
-- example: Between 1 February and 1 March the invoice I-1 of 7 was loaded and I-2 of 9 voided; I-3 did not change.
--   invoices: invoice_number | loaded_at | state | voided_at
--   I-1 | 2026-02-05T00:00:00Z | loaded |
--   I-2 | 2026-01-05T00:00:00Z | voided | 2026-02-10T00:00:00Z
--   I-3 | 2026-01-05T00:00:00Z | loaded |
--   lines: invoice_number | billing_cost
--   I-1 | 7
--   I-2 | 9
--   I-3 | 5
--   with: first=2026-02-01, second=2026-03-01
--   rows: invoice_number | cause | cost_first | cost_second | difference
--   I-2 | voided | 9.0000 | 0.0000 | -9.0000
--   I-1 | loaded | 0.0000 | 7.0000 | 7.0000
with later as (
    select coalesce(cast($second as timestamptz), cast(getvariable('as_known_on') as timestamptz), max(published_at)) as second_at
    from publication
),
instants as (
    select coalesce(cast($first as timestamptz), second_at - interval 30 day) as first_at, second_at from later
),
-- Only these invoices can differ; the rows of all others stay unread.
changed as (
    select coalesce(s.invoice_id, f.invoice_id) as invoice_id, f.load_id as first_load, s.load_id as second_load
    from files_on((select first_at from instants)) as f
    full join files_on((select second_at from instants)) as s on s.invoice_id = f.invoice_id
    where f.file_sha256 is distinct from s.file_sha256
),
-- The sum of the hashes of all cells is the same for the same lines in any order.
read as (
    select load_id, invoice_id, invoice_number, coalesce(n.label, v.tenant) as tenant, currency_code, count(*) as shipments,
        sum(billing_cost) as cost,
        sum(cast(hash(
            ship_date, invoice_generation_date, origin, billing_cost, billable_weight, billable_weight_unit,
            tracking_number, carrier, carrier_zone, carrier_invoice_date, service_level
        ) as hugeint)) as cells
    from shipment_versions as v
    left join tenant_labels as n on n.tenant_key = tenant_key(v.tenant_id, v.tenant)
    where load_id in (select first_load from changed union all select second_load from changed)
    and matches_partner(partner_id)
    and passes_filters(
        tenant_id, coalesce(n.label, v.tenant), carrier, carrier_zone, currency_code, ship_date, invoice_generation_date
    )
    and matches_level(invoice_level)
    group by all
),
first_side as (
    select * from read where load_id in (select first_load from changed)
),
second_side as (
    select * from read where load_id in (select second_load from changed)
)
select
    coalesce(s.invoice_number, f.invoice_number) as invoice_number,
    coalesce(s.tenant, f.tenant) as tenant,
    coalesce(s.currency_code, f.currency_code) as currency_code,
    case when c.first_load is null then 'loaded' when c.second_load is null then 'voided' else 'new file' end as cause,
    coalesce(f.shipments, 0) as shipments_first,
    coalesce(s.shipments, 0) as shipments_second,
    coalesce(f.cost, 0) as cost_first,
    coalesce(s.cost, 0) as cost_second,
    coalesce(s.cost, 0) - coalesce(f.cost, 0) as difference,
    coalesce(s.invoice_id, f.invoice_id) as invoice_id
from first_side as f
full join second_side as s
    on s.invoice_id = f.invoice_id and s.currency_code = f.currency_code and s.tenant = f.tenant
join changed as c on c.invoice_id = coalesce(s.invoice_id, f.invoice_id)
where f.cells is distinct from s.cells
order by currency_code, abs(difference) desc, invoice_number, invoice_id
