-- Living invoices whose rows contradict their header, newest first. A line that was billed late lies outside of the
-- invoice's period; that is ordinary, asks nothing of a person, and the report late-billed lists such lines.
select invoice_id, invoice_number, tenant, discrepancy_rules, stated_total_amount, billing_cost, currency_code, loaded_at,
    count(*) over () as found
from invoices
where discrepancies > 0 and discrepancy_rules <> 'period' and state = 'loaded'
order by loaded_at desc, invoice_number
limit 20
