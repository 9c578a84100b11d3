-- The spend as known on a day, without later files, voids and corrections.
-- The function of billsync reads its own tables, which DuckDB looks for in the database in use.
{{ config(pre_hook='use billsync', post_hook='use "' ~ target.database ~ '"') }}
select
    cast('{{ var("known_on", "2026-04-01T00:00:00Z") }}' as timestamptz) as known_on,
    carrier,
    currency_code,
    count(*) as shipments,
    sum(billing_cost) as billing_cost
from billsync.shipments_as_known_on(cast('{{ var("known_on", "2026-04-01T00:00:00Z") }}' as timestamptz))
where invoice_level <> 'partner'
group by carrier, currency_code
