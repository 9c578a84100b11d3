-- Where each of these invoices stands; one of which nothing is known is missing.
select
    i.invoice_id::text as invoice_id, i.state, i.stated_total, i.stated_shipments::float8 as stated_shipments,
    l.billing_cost::text as billing_cost, l.shipments::float8 as shipments,
    i.reason_code is not null or exists (
        select 1 from discrepancy_lines as d where d.invoice_id = i.invoice_id and d.rule = 'unknown-status'
    ) as is_unanswered
from invoice_state as i
left join loads as l on l.load_id = i.current_load_id
where i.invoice_id in (select json_array_elements_text($invoice_ids::json)::uuid)
