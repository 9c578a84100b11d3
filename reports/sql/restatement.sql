-- title: What changed between what we knew then and what we know now?
-- grain: invoice, currency
-- params: $first instant: the earlier instant; without it 30 days before the later one
--   $second instant: the later instant; without it the instant of the publication
-- means: both sides count what a report would have counted at that instant, with the same filters; only invoices that
--   differ are listed. The cause is loaded (new), voided, or new file (another version, or another header).
-- cannot say: anything of before the first load. Names and levels of tenants are those of today on both sides.
-- units: cost_first money, cost_second money, difference money
-- chart: bar key=invoice_number+tenant value=difference
-- detail: invoice_id
with instants as (
    select
        coalesce(cast($first as timestamp), coalesce(cast($second as timestamp), max(published_at)) - interval 30 day)
            as first_at,
        coalesce(cast($second as timestamp), max(published_at)) as second_at
    from publication
),
first_side as (
    select invoice_id, invoice_number, tenant, currency_code, count(*) as shipments, sum(billing_cost) as cost,
        any_value(file_sha256) as file_sha256
    from shipments_as_known_on((select first_at from instants))
    where passes_filters(tenant, carrier, carrier_zone, currency_code, ship_date, invoice_generation_date)
    and list_contains(cast(getvariable('levels') as varchar[]), coalesce(invoice_level, 'unknown'))
    group by all
),
second_side as (
    select invoice_id, invoice_number, tenant, currency_code, count(*) as shipments, sum(billing_cost) as cost,
        any_value(file_sha256) as file_sha256
    from shipments_as_known_on((select second_at from instants))
    where passes_filters(tenant, carrier, carrier_zone, currency_code, ship_date, invoice_generation_date)
    and list_contains(cast(getvariable('levels') as varchar[]), coalesce(invoice_level, 'unknown'))
    group by all
)
select
    coalesce(s.invoice_number, f.invoice_number) as invoice_number,
    coalesce(s.tenant, f.tenant) as tenant,
    coalesce(s.currency_code, f.currency_code) as currency_code,
    case when f.invoice_id is null then 'loaded' when s.invoice_id is null then 'voided' else 'new file' end as cause,
    coalesce(f.shipments, 0) as shipments_first,
    coalesce(s.shipments, 0) as shipments_second,
    coalesce(f.cost, 0) as cost_first,
    coalesce(s.cost, 0) as cost_second,
    coalesce(s.cost, 0) - coalesce(f.cost, 0) as difference,
    coalesce(s.invoice_id, f.invoice_id) as invoice_id
from first_side as f
full join second_side as s
    on s.invoice_id = f.invoice_id and s.currency_code = f.currency_code and s.tenant = f.tenant
where f.file_sha256 is distinct from s.file_sha256
order by currency_code, abs(difference) desc, invoice_number, invoice_id
