-- title: Billing adjustments and disputed charges
-- purpose: Audit, 5
-- grain: carrier, tracking number, tenant, currency
-- source: disputes
-- params: $limit integer = 100000: list at most this many rows of each partner, the first in the report's order
-- means: the filters choose the lines that are examined; all lines of their tracking numbers are read, whatever their date or
--   zone. Lists each tracking number for which a tenant has more than one line, has a credit, or that is in dispute.
--   The first charge is the line above zero of the earliest invoice date (of several, the first by invoice id and
--   line). adjusted is the sum of the other lines above zero, credited that of the lines below zero. changed names
--   what any of the other lines above zero (not the credits) has differently from the first charge, in this order and
--   with ", " between: weight (or its unit), zone (in one spelling), service; it is empty if nothing differs.
--   disputed is what you claimed back (--disputes FILE; carriers in upper or lower case; several claims for one
--   number are added); outstanding is disputed less what was credited, zero if more was credited, and empty where
--   nothing is in dispute. If several tenants were billed for a number, each has its own row, and the dispute is
--   in that of the tenant billed first (then by carrier and tenant).
-- order: currency; highest adjusted plus credited (as a positive amount) first; carrier; tracking_number; tenant
-- cannot say: whether an adjustment is right; nor which credit answers which dispute of one number.
-- units: first_charge money, adjusted money, credited money, disputed money, outstanding money
-- detail: last_invoice_date
-- chart: bar key=carrier value=adjusted combine=sum
-- drilldown: shipments by carrier, tracking_number, tenant, currency_code
-- example: A was charged 10 for 2 lb, and on a later invoice 4 more for 3 lb; 6 were disputed and 1 is credited, so 5 are open.
--   lines: tracking_number | invoice_generation_date | billable_weight | billing_cost
--   A | 2026-03-10 | 2 | 10
--   A | 2026-04-10 | 3 | 4
--   A | 2026-05-10 | 3 | -1
--   B | 2026-03-10 | 2 | 9
--   disputes: carrier | tracking_number | currency_code | amount
--   UPS | A | USD | 6
--   rows: tracking_number | lines | first_charge | adjusted | credited | changed | disputed | outstanding
--   A | 3 | 10.0000 | 4.0000 | -1.0000 | weight | 6.0000 | 5.0000
with disputed as (
    select lower(carrier) as carrier, tracking_number, currency_code, sum(amount) as amount from disputes group by all
),
marked as (
    select mark_of(tracking_number) as mark, billing_cost < 0 as is_credit from loaded_shipments
),
-- Where two lines have the same mark, their numbers are compared; all other lines are the only ones of their number.
looked_up as (
    select mark from (select mark, lag(mark) over (order by mark) as mark_before from marked) where mark = mark_before
    union
    select mark from marked where is_credit
    union
    select mark_of(tracking_number) from disputed
),
lines as (
    select
        s.*,
        row_number() over number as place,
        first_value(s.billable_weight) over number as first_weight,
        first_value(s.billable_weight_unit) over number as first_unit,
        first_value(s.zone) over number as first_zone,
        first_value(s.service_level) over number as first_service
    from loaded_shipments as s
    semi join looked_up as m on m.mark = mark_of(s.tracking_number)
    window number as (
        partition by s.carrier, s.tracking_number, s.currency_code, s.tenant
        order by s.billing_cost <= 0, s.invoice_generation_date, s.invoice_id, s.row_number
    )
    qualify bool_or(s.is_examined) over (partition by s.carrier, s.tracking_number, s.currency_code, s.tenant)
),
numbers as (
    select
        carrier,
        tracking_number,
        currency_code,
        tenant,
        count(*) as lines,
        count(distinct invoice_id) as invoices,
        sum(billing_cost) filter (where place = 1 and billing_cost > 0) as first_charge,
        coalesce(sum(billing_cost) filter (where place > 1 and billing_cost > 0), 0) as adjusted,
        credits_of(billing_cost) as credited,
        count(*) filter (
            where billing_cost > 0
            and (billable_weight is distinct from first_weight or billable_weight_unit is distinct from first_unit)
        ) > 0 as has_other_weight,
        count(*) filter (where billing_cost > 0 and zone is distinct from first_zone) > 0 as has_other_zone,
        count(*) filter (where billing_cost > 0 and service_level is distinct from first_service) > 0 as has_other_service,
        max(invoice_generation_date) as last_invoice_date,
        row_number() over (
            partition by lower(carrier), tracking_number, currency_code order by min(invoice_generation_date), carrier, tenant
        ) as place
    from lines
    group by carrier, tracking_number, currency_code, tenant
)
select
    n.carrier,
    n.tracking_number,
    n.currency_code,
    n.tenant,
    n.lines,
    n.invoices,
    n.first_charge,
    n.adjusted,
    n.credited,
    nullif(
        concat_ws(
            ', ',
            case when n.has_other_weight then 'weight' end,
            case when n.has_other_zone then 'zone' end,
            case when n.has_other_service then 'service' end
        ),
        ''
    ) as changed,
    d.amount as disputed,
    case when d.amount is not null then greatest(d.amount + n.credited, 0) end as outstanding,
    n.last_invoice_date
from numbers as n
left join disputed as d
    on n.place = 1 and d.carrier = lower(n.carrier) and d.tracking_number = n.tracking_number and d.currency_code = n.currency_code
where n.lines > 1 or n.credited < 0 or d.amount is not null
order by n.currency_code, n.adjusted - n.credited desc, n.carrier, n.tracking_number, n.tenant
limit $limit
