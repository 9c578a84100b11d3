-- title: What is missing or odd in the invoice files?
-- grain: check, currency
-- means: each check counts the lines it finds; a line may be found by several. share_of_shipments is of all lines in
--   that currency. example is the tracking number of the first one found, in order of invoice and line.
-- cannot say: that a line is wrong. An empty cell is allowed where the file format allows it; nothing is repaired here.
-- units: share_of_shipments %, billing_cost money
-- chart: bar key=problem value=shipments
-- detail: example_invoice
with checked as (
    select
        s.*,
        unnest([
            case when s.origin is null then 'origin is missing' end,
            case when s.billable_weight is null then 'billable weight is missing' end,
            case when s.billable_weight = 0 then 'billable weight is zero' end,
            case when s.billable_weight is not null and s.billable_weight_unit is null then 'weight unit is missing' end,
            case when s.carrier_zone is null then 'carrier zone is missing' end,
            case when s.carrier_zone <> s.zone then 'carrier zone has an unusual spelling' end,
            case when s.carrier_invoice_date is null then 'carrier invoice date is missing' end,
            case when s.service_level is null then 'service level is missing' end,
            case when s.billing_cost = 0 then 'cost is zero' end,
            case when s.billing_cost < 0 then 'cost is a credit' end,
            case when s.ship_date > s.invoice_generation_date then 'shipped after it was invoiced' end,
            case when s.carrier_invoice_date < s.ship_date then 'carrier billed before it was shipped' end,
            case
                when s.carrier_invoice_date > s.invoice_generation_date then 'carrier billed after it was invoiced'
            end,
            case
                when s.ship_date < i.invoice_start_date or s.ship_date > i.invoice_end_date
                    then 'ship date is outside the billing period'
            end,
            case when s.currency_code <> i.currency_code then 'currency differs from the invoice' end,
            case
                when regexp_full_match(s.tracking_number, '[0-9](\.[0-9]+)?[eE]\+[0-9]+')
                    then 'tracking number went through a spreadsheet'
            end,
            case
                when s.tracking_number <> trim(s.tracking_number) or s.carrier <> trim(s.carrier)
                    or s.tenant <> trim(s.tenant)
                    then 'text has blanks at its ends'
            end
        ]) as problem
    from selected_shipments as s
    left join invoices as i on i.invoice_id = s.invoice_id
),
totals as (
    select currency_code, count(*) as shipments from selected_shipments group by all
)
select
    c.problem,
    c.currency_code,
    count(*) as shipments,
    percent_of(count(*), any_value(t.shipments)) as share_of_shipments,
    count(distinct c.invoice_id) as invoices,
    sum(c.billing_cost) as billing_cost,
    arg_min(c.tracking_number, row(c.invoice_id, c.row_number)) as example,
    arg_min(c.invoice_number, row(c.invoice_id, c.row_number)) as example_invoice
from checked as c
join totals as t on t.currency_code = c.currency_code
where c.problem is not null
group by c.problem, c.currency_code
order by c.currency_code, count(*) desc, c.problem
