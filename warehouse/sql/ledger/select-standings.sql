-- Where each of these invoices stands, one of which nothing is known is missing: a look at very many asks for a slice at once.
with asked as materialized (
    select * from invoice_state where invoice_id in (select unnest(from_json($invoice_ids::json, '["UUID"]')))
)
select
    i.invoice_id::varchar as invoice_id, i.state, i.stated_total, i.stated_shipments::double as stated_shipments,
    l.billing_cost::varchar as billing_cost, l.shipments::double as shipments,
    i.reason_code is not null or i.invoice_id in (
        select invoice_id from discrepancy_lines
        where rule = 'unknown-status' and invoice_id in (select invoice_id from asked)
    ) as is_unanswered
from asked as i
left join (select * from loads where load_id in (select current_load_id from asked)) as l on l.load_id = i.current_load_id
