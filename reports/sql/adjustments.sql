-- title: Billing adjustments and disputed charges
-- purpose: Audit, 5
-- grain: carrier, tracking number, tenant, currency
-- source: disputes
-- params: $limit integer = 100000: list at most this many rows of each partner and currency, the first in the report's order
-- means: Tracking numbers with more than one line, a credit or a dispute. The filters choose the numbers; all lines of
--   a number are read. The first charge is the charge with the earliest invoice date; `adjusted` sums the later
--   charges, `credited` the lines below zero. `changed` lists what later charges state differently: weight, zone (in
--   one spelling) or service; an empty cell states nothing. `disputed` comes from `--disputes FILE`; `outstanding` is the part that is not credited
--   yet. A dispute counts for the tenant that was billed first.
-- order: currency; highest adjusted plus credited (as a positive amount) first; carrier; tracking_number; tenant
-- limits: Whether an adjustment is right is not known, nor which credit answers which of several disputes of one
--   number.
-- detail: last_invoice_date
-- chart: bar key=carrier value=adjusted combine=sum
-- drilldown: shipments by carrier, tracking_number, tenant, currency_code
-- example: A was charged 10 for 2 lb, and later 4 more for 3 lb. 6 are disputed and 1 is credited, so 5 are
--   outstanding.
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
looked_up as (
    from repeated_marks('loaded_shipments')
    union
    select mark_of(tracking_number) from loaded_shipments where billing_cost < 0
    union
    select mark_of(tracking_number) from disputed
),
lines as (
    select
        s.*,
        row_number() over number as place,
        exact_weight(s.billable_weight, s.billable_weight_unit) as weight,
        first_value(exact_weight(s.billable_weight, s.billable_weight_unit)) over number as first_weight,
        first_value(s.zone) over number as first_zone,
        first_value(s.service_level) over number as first_service
    from loaded_shipments as s
    semi join looked_up as m on m.mark = mark_of(s.tracking_number)
    window number as (
        partition by s.carrier, s.tracking_number, s.currency_code, s.tenant
        order by s.billing_cost <= 0, s.invoice_generation_date, s.invoice_id, s.row_number
    )
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
        count(*) filter (where billing_cost > 0 and weight <> first_weight) > 0 as has_other_weight,
        count(*) filter (where billing_cost > 0 and zone <> first_zone) > 0 as has_other_zone,
        count(*) filter (where billing_cost > 0 and service_level <> first_service) > 0 as has_other_service,
        max(invoice_generation_date) as last_invoice_date,
        bool_or(is_examined) as is_examined,
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
    on d.carrier = if(n.place = 1, lower(n.carrier), null) and d.tracking_number = n.tracking_number and d.currency_code = n.currency_code
where n.is_examined and (n.lines > 1 or n.credited < 0 or d.amount is not null)
qualify row_number() over (
    partition by n.currency_code order by n.adjusted - n.credited desc, n.carrier, n.tracking_number, n.tenant
) <= $limit
order by n.currency_code, n.adjusted - n.credited desc, n.carrier, n.tracking_number, n.tenant
