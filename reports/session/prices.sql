-- The charges of a view, by cell: a carrier's service into a zone at a rated weight, in one currency and, when
-- asked, one period. Equal prices of a cell are one row with a count. Credits and lines of zero are no prices, and a line
-- without weight, zone or service is in no cell: it is unknown what it may be compared with. `examined` are the shipments that
-- pass the filters.
create or replace temp macro prices(period, service, lines) as table
    select
        period as start,
        carrier,
        service as service_level,
        zone,
        rated,
        currency_code,
        billing_cost,
        count(*) as shipments,
        count(*) filter (where is_examined) as examined
    from query_table(lines)
    where billing_cost > 0 and service is not null and zone is not null and billable_weight is not null
    group by all
